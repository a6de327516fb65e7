package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"verdict.example/program/verdict"
)

type key string

func (k key) ApiKey(context.Context, verdict.OperationName) (verdict.ApiKey, error) {
	return verdict.ApiKey{Token: string(k)}, nil
}

// Sends one email, a batch and an import with a client made by ogen, reads them back, and prints the results.
func main() {
	ctx := context.Background()
	client, err := verdict.NewClient(os.Getenv("VERDICT_URL"), key(os.Getenv("VERDICT_API_KEY")))
	must(err)

	from, one := verdict.NewOptNilString(os.Getenv("FROM")), "delivered@simulator.test"
	subject, text := verdict.NewOptNilString("Hello"), verdict.NewOptNilString("It works.")
	message := verdict.SendRequest{To: verdict.NewStringSendRequestTo(one), From: from, Subject: subject, Text: text}
	sent := of[*verdict.SendResponseHeaders](client.SendEmail(ctx, &message, verdict.SendEmailParams{})).Response

	several := verdict.NewStringArrayBatchItemTo([]string{"mailbox_full@simulator.test", one})
	item := verdict.BatchItem{To: several, From: from, Subject: subject, Text: text}
	emails := verdict.SendBatchRequest{Emails: []verdict.BatchItem{item}}
	batch := of[*verdict.SendBatchResponseHeaders](client.SendEmailBatch(ctx, &emails, verdict.SendEmailBatchParams{})).Response

	email := of[*verdict.GetEmailOKHeaders](client.GetEmail(ctx, verdict.GetEmailParams{ID: sent.MessageID})).Response
	query := verdict.ListEventsParams{MessageID: verdict.NewOptString(sent.MessageID)}
	events := of[*verdict.EventPageHeaders](client.ListEvents(ctx, query)).Response
	list := verdict.SuppressionServiceImportRequest{Emails: []string{"ogen@example.com"}}
	imported := of[*verdict.SuppressionServiceImportResponseHeaders](
		client.ImportSuppressions(ctx, &list, verdict.ImportSuppressionsParams{})).Response
	fault := of[*verdict.GetEmailNotFound](client.GetEmail(ctx, verdict.GetEmailParams{ID: "msg_unknown"})).Response

	output, err := json.Marshal(map[string]any{
		"sent": sent.Status, "code": sent.SMTP.Value.Code.Value, "batch": batch.Results[0].Reason.Value,
		"subject": email.Subject, "events": len(events.Events), "imported": imported.Imported, "error": fault.Error,
	})
	must(err)
	fmt.Println(string(output))
}

// of returns the response of a call as the type that is expected.
func of[Response any](response any, err error) Response {
	must(err)
	return response.(Response)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
