package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	verdict "verdict.example/client"
)

// Sends one email, a batch and an import with a client made by openapi-generator, reads them back, and prints the results.
func main() {
	configuration := verdict.NewConfiguration()
	configuration.Servers = verdict.ServerConfigurations{{URL: os.Getenv("VERDICT_URL")}}
	client := verdict.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), verdict.ContextAccessToken, os.Getenv("VERDICT_API_KEY"))

	from, one := os.Getenv("FROM"), "delivered@simulator.test"
	message := verdict.NewSendRequest(verdict.SendRequestTo{String: &one})
	message.SetFrom(from)
	message.SetSubject("Hello")
	message.SetText("It works.")
	sent, _, err := client.EmailsAPI.SendEmail(ctx).SendRequest(*message).Execute()
	must(err)

	several := []string{"mailbox_full@simulator.test", one}
	item := verdict.NewBatchItem(verdict.BatchItemTo{ArrayOfString: &several})
	item.SetFrom(from)
	item.SetSubject("Hello")
	item.SetText("It works.")
	batch, _, err := client.EmailsAPI.SendEmailBatch(ctx).SendBatchRequest(*verdict.NewSendBatchRequest([]verdict.BatchItem{*item})).Execute()
	must(err)

	email, _, err := client.EmailsAPI.GetEmail(ctx, sent.MessageId).Execute()
	must(err)
	events, _, err := client.EventsAPI.ListEvents(ctx).MessageId(sent.MessageId).Execute()
	must(err)
	list := *verdict.NewSuppressionServiceImportRequest([]string{"go@example.com"})
	imported, _, err := client.SuppressionsAPI.ImportSuppressions(ctx).SuppressionServiceImportRequest(list).Execute()
	must(err)
	_, _, err = client.EmailsAPI.GetEmail(ctx, "msg_unknown").Execute()
	fault := err.(*verdict.GenericOpenAPIError).Model().(verdict.Error)

	output, err := json.Marshal(map[string]any{
		"sent": sent.Status, "code": sent.Smtp.GetCode(), "batch": batch.Results[0].GetReason(),
		"subject": email.Subject, "events": len(events.Events), "imported": imported.Imported, "error": fault.Error,
	})
	must(err)
	fmt.Println(string(output))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
