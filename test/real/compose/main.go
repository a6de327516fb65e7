// Prints a Compose file as Docker Compose reads it, or says what is wrong with it: `docker compose config` without
// Docker. It uses the same library.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func main() {
	project, err := load(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, err := project.MarshalYAML()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.Write(text)
}

func load(files []string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files, cli.WithOsEnv, cli.WithName("verdict"))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}
