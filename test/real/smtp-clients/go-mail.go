package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	port, err := strconv.Atoi(os.Getenv("PORT"))
	check(err)
	client, err := mail.NewClient("localhost", mail.WithPort(port), mail.WithSMTPAuth(mail.SMTPAuthPlain),
		mail.WithUsername("any"), mail.WithPassword(os.Getenv("VERDICT_API_KEY")))
	check(err)
	message := mail.NewMsg()
	check(message.From(os.Getenv("FROM")))
	check(message.To(strings.Split(os.Getenv("TO"), ",")...))
	message.Subject(os.Getenv("SUBJECT"))
	message.SetBodyString(mail.TypeTextPlain, "Shipped.")
	for i := 0; i < 2; i++ {
		err := client.DialAndSend(message)
		if err == nil {
			fmt.Println("sent")
			return
		}
		text := strings.Join(strings.Fields(err.Error()), " ")
		fmt.Println("failed", text)
		if regexp.MustCompile(`\b5\d\d\b`).MatchString(text) {
			return
		}
	}
}
