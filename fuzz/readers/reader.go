// Reads what the targets ask for, with Go's own libraries: one question and one answer a line, each as JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"net/textproto"
	"os"
	"strings"
)

type question struct {
	Task  string          `json:"task"`
	Input json.RawMessage `json:"input"`
}

type message struct {
	Headers   map[string][]string   `json:"headers"`
	Decoded   map[string][]string   `json:"decoded"`
	Mailboxes map[string][][]string `json:"mailboxes"`
	DateMs    int64                 `json:"dateMs"`
	Parts     []part                `json:"parts"`
}

type part struct {
	Type                  string            `json:"type"`
	Parameters            map[string]string `json:"parameters"`
	Disposition           string            `json:"disposition"`
	DispositionParameters map[string]string `json:"dispositionParameters"`
	ContentID             string            `json:"contentId"`
	Content               string            `json:"content"`
}

var words = &mime.WordDecoder{}

// The message in these octets, in base64.
func readMessage(input json.RawMessage) (any, error) {
	var octets []byte
	if err := json.Unmarshal(input, &octets); err != nil {
		return nil, err
	}
	source, err := mail.ReadMessage(bytes.NewReader(octets))
	if err != nil {
		return nil, err
	}
	read := message{map[string][]string{}, map[string][]string{}, map[string][][]string{}, 0, []part{}}
	for name, values := range source.Header {
		key := strings.ToLower(name)
		for _, value := range values {
			decoded, err := words.DecodeHeader(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			read.Headers[key] = append(read.Headers[key], value)
			read.Decoded[key] = append(read.Decoded[key], decoded)
		}
	}
	for _, name := range []string{"from", "to", "cc", "reply-to"} {
		if source.Header.Get(name) == "" {
			continue
		}
		list, err := (&mail.AddressParser{WordDecoder: words}).ParseList(source.Header.Get(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, mailbox := range list {
			read.Mailboxes[name] = append(read.Mailboxes[name], []string{mailbox.Name, mailbox.Address})
		}
	}
	date, err := source.Header.Date()
	if err != nil {
		return nil, err
	}
	read.DateMs = date.UnixMilli()
	read.Parts, err = readEntity(textproto.MIMEHeader(source.Header), source.Body)
	return read, err
}

// The leaves of an entity, in their order.
func readEntity(header textproto.MIMEHeader, body io.Reader) ([]part, error) {
	mediaType, parameters, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", header.Get("Content-Type"), err)
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		leaves := []part{}
		parts := multipart.NewReader(body, parameters["boundary"])
		for {
			inner, err := parts.NextRawPart()
			if err == io.EOF {
				return leaves, nil
			}
			if err != nil {
				return nil, err
			}
			more, err := readEntity(inner.Header, inner)
			if err != nil {
				return nil, err
			}
			leaves = append(leaves, more...)
		}
	}
	switch header.Get("Content-Transfer-Encoding") {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	leaf := part{Type: mediaType, Parameters: parameters, DispositionParameters: map[string]string{}}
	leaf.ContentID = header.Get("Content-Id")
	leaf.Content = base64.StdEncoding.EncodeToString(content)
	if disposition := header.Get("Content-Disposition"); disposition != "" {
		leaf.Disposition, leaf.DispositionParameters, err = mime.ParseMediaType(disposition)
	}
	return []part{leaf}, err
}

// The mailbox in this text: its name, and both parts of its address.
func readAddress(input json.RawMessage) (any, error) {
	var text string
	if err := json.Unmarshal(input, &text); err != nil {
		return nil, err
	}
	mailbox, err := (&mail.AddressParser{WordDecoder: words}).Parse(text)
	if err != nil {
		return nil, err
	}
	at := strings.LastIndex(mailbox.Address, "@")
	return []string{mailbox.Name, mailbox.Address[:at], mailbox.Address[at+1:]}, nil
}

var tasks = map[string]func(json.RawMessage) (any, error){
	"address": readAddress,
	"message": readMessage,
}

func main() {
	questions := bufio.NewReader(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := questions.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		value, err := tasks[asked.Task](asked.Input)
		if err != nil {
			answers.Encode(map[string]string{"refused": err.Error()})
		} else {
			answers.Encode(map[string]any{"value": value})
		}
	}
}
