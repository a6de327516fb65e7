package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"verify.example/verify"
)

type request struct {
	Body    *string
	Headers map[string]string
}

func main() {
	var vectors struct {
		Body, Secret string
		Now          int64
		Requests     []request
	}
	file, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(file, &vectors)
	}
	if err != nil {
		panic(err)
	}
	answers := []int{}
	for _, request := range vectors.Requests {
		body := vectors.Body
		if request.Body != nil {
			body = *request.Body
		}
		header := http.Header{}
		for name, value := range request.Headers {
			header.Set(name, value)
		}
		answers = append(answers, verify.Check([]byte(body), header, vectors.Secret, time.Unix(vectors.Now, 0)))
	}
	printed, _ := json.Marshal(answers)
	fmt.Println(string(printed))
}
