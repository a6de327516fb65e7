package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	verdict "example.com/mail/gen/verdict/v1"
	"example.com/mail/gen/verdict/v1/verdictv1connect"
)

var address = os.Getenv("VERDICT_URL")
var authorization = "Bearer " + os.Getenv("VERDICT_API_KEY")

type results map[string]any

func message(local string, repeat int) *verdict.SendRequest {
	html := strings.Repeat("<p>It works.</p>", repeat)
	return &verdict.SendRequest{From: os.Getenv("FROM"), To: []string{local + "@simulator.test"}, Subject: "Hello", Html: &html}
}

// Calls the service with grpc-go and connect-go, with their defaults and their usual options. Prints the results.
func main() {
	output, err := json.Marshal(map[string]results{"grpc-go": withGrpc(), "connect-go": withConnect()})
	must(err)
	fmt.Println(string(output))
}

func withGrpc() results {
	target, err := url.Parse(address)
	must(err)
	dial := func(options ...grpc.DialOption) *grpc.ClientConn {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
		connection, err := grpc.NewClient(target.Host, options...)
		must(err)
		return connection
	}
	code := func(connection *grpc.ClientConn, request *verdict.SendRequest, timeout time.Duration) string {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
		response, err := verdict.NewEmailServiceClient(connection).Send(ctx, request)
		if err != nil {
			return status.Code(err).String()
		}
		return response.GetStatus().String()
	}
	plain := dial()
	packing := dial(grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	patient := dial(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, PermitWithoutStream: true}))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", authorization)
	domains, err := verdict.NewDomainServiceClient(plain).ListDomains(ctx, &verdict.ListDomainsRequest{})
	must(err)
	return results{
		"defaults":   code(plain, message("delivered", 1), 40*time.Second),
		"large":      code(plain, message("delivered", 20_000), 40*time.Second),
		"compressed": code(packing, message("delivered", 20_000), 40*time.Second),
		"domains":    len(domains.GetDomains()),
		"fault":      code(packing, &verdict.SendRequest{}, 40*time.Second),
		"deadline":   code(plain, message("connection_timeout", 1), 500*time.Millisecond),
		"keepalive":  code(patient, message("connection_timeout", 1), 40*time.Second),
		"stream": stream(func(after string) func() (*verdict.StreamEventsResponse, error) {
			opened, err := verdict.NewEventServiceClient(plain).StreamEvents(ctx, &verdict.StreamEventsRequest{After: &after})
			must(err)
			return opened.Recv
		}),
	}
}

func withConnect() results {
	code := func(client verdictv1connect.EmailServiceClient, message *verdict.SendRequest, timeout time.Duration) string {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		request := connect.NewRequest(message)
		request.Header().Set("authorization", authorization)
		response, err := client.Send(ctx, request)
		if err != nil {
			return connect.CodeOf(err).String()
		}
		return response.Msg.GetStatus().String()
	}
	plain := verdictv1connect.NewEmailServiceClient(http.DefaultClient, address)
	packing := verdictv1connect.NewEmailServiceClient(http.DefaultClient, address, connect.WithSendGzip())
	request := connect.NewRequest(&verdict.ListDomainsRequest{})
	request.Header().Set("authorization", authorization)
	domains, err := verdictv1connect.NewDomainServiceClient(http.DefaultClient, address).ListDomains(context.Background(), request)
	must(err)
	return results{
		"defaults":   code(plain, message("delivered", 1), 40*time.Second),
		"large":      code(plain, message("delivered", 20_000), 40*time.Second),
		"compressed": code(packing, message("delivered", 20_000), 40*time.Second),
		"domains":    len(domains.Msg.GetDomains()),
		"fault":      code(packing, &verdict.SendRequest{}, 40*time.Second),
		"deadline":   code(plain, message("connection_timeout", 1), 500*time.Millisecond),
		"keepalive":  code(plain, message("connection_timeout", 1), 40*time.Second),
		"stream": stream(func(after string) func() (*verdict.StreamEventsResponse, error) {
			request := connect.NewRequest(&verdict.StreamEventsRequest{After: &after})
			request.Header().Set("authorization", authorization)
			opened, err := verdictv1connect.NewEventServiceClient(http.DefaultClient, address).StreamEvents(context.Background(), request)
			must(err)
			return func() (*verdict.StreamEventsResponse, error) {
				opened.Receive()
				return opened.Msg(), opened.Err()
			}
		}),
	}
}

// stream reads two events from the beginning, and the second one again after the position of the first.
func stream(open func(after string) func() (*verdict.StreamEventsResponse, error)) string {
	read := func(after string, count int) (found []*verdict.EventChange) {
		next := open(after)
		for len(found) < count {
			message, err := next()
			must(err)
			found = append(found, message.GetEvents()...)
		}
		return found
	}
	all := read("begin", 2)
	again := read(all[0].GetPosition(), 1)
	if again[0].GetEvent().GetEventId() != all[1].GetEvent().GetEventId() {
		return "differs"
	}
	return "resumed"
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
