package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"verdict.example/program/verdict"
)

// Sends one email, a batch and an import with a client made by oapi-codegen, reads them back, and prints the results.
func main() {
	ctx := context.Background()
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("VERDICT_API_KEY"))
		return nil
	}
	client, err := verdict.NewClientWithResponses(os.Getenv("VERDICT_URL"), verdict.WithRequestEditorFn(authorize))
	must(err)

	from, one, subject, text := os.Getenv("FROM"), "delivered@simulator.test", "Hello", "It works."
	var to verdict.SendRequestTo
	must(to.FromSendRequestTo0(one))
	message := verdict.SendRequest{To: to, From: &from, Subject: &subject, Text: &text}
	sent, err := client.SendEmailWithResponse(ctx, nil, message)
	must(err)

	var several verdict.BatchItemTo
	must(several.FromBatchItemTo1([]string{"mailbox_full@simulator.test", one}))
	item := verdict.BatchItem{To: several, From: &from, Subject: &subject, Text: &text}
	batch, err := client.SendEmailBatchWithResponse(ctx, nil, verdict.SendBatchRequest{Emails: []verdict.BatchItem{item}})
	must(err)

	id := sent.JSON200.MessageId
	email, err := client.GetEmailWithResponse(ctx, id, nil)
	must(err)
	events, err := client.ListEventsWithResponse(ctx, &verdict.ListEventsParams{MessageId: &id})
	must(err)
	list := verdict.SuppressionServiceImportRequest{Emails: []string{"oapi-codegen@example.com"}}
	imported, err := client.ImportSuppressionsWithResponse(ctx, nil, list)
	must(err)
	fault, err := client.GetEmailWithResponse(ctx, "msg_unknown", nil)
	must(err)

	// The type of what the service posts to an endpoint.
	_ = verdict.EmailDeliveryPayload{}

	output, err := json.Marshal(map[string]any{
		"sent": sent.JSON200.Status, "code": sent.JSON200.Smtp.Code, "batch": batch.JSON200.Results[0].Reason,
		"subject": email.JSON200.Subject, "events": len(events.JSON200.Events), "imported": imported.JSON200.Imported,
		"error": fault.JSON404.Error,
	})
	must(err)
	fmt.Println(string(output))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
