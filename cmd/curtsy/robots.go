package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

func newRobots(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots",
		Short: "Judge URLs by a robots.txt, find mistakes in one, or compare two",
		Args:  cli.KnownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRobotsCheck(std), newRobotsLint(std), newRobotsDiff(std))
	return cmd
}

// maxRobotsFile bounds a robots.txt that is read from a file. Beyond robots.MaxBody it is not parsed anyway.
const maxRobotsFile = 64 << 20

// readRobotsFile reads a robots.txt from a file, "-" for standard input.
func readRobotsFile(path string, std cli.Streams) ([]byte, error) {
	in := std.In
	if path != "-" {
		f, err := userfile.Open(path)
		if err != nil {
			return nil, fmt.Errorf("robots.txt: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxRobotsFile+1))
	if err != nil {
		return nil, fmt.Errorf("robots.txt: %w", err)
	}
	if len(body) > maxRobotsFile {
		return nil, fmt.Errorf("robots.txt: %s is larger than %s", path, plainly.Size(maxRobotsFile))
	}
	return body, nil
}

// standardNames lists the standards for help texts.
func standardNames() string {
	var names []string
	for _, s := range robots.Standards() {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// askedDelay returns the pause that a site asks for, by Crawl-delay or Request-rate; the longer of the two.
func askedDelay(p *robots.Policy) (d time.Duration, ok bool) {
	wait, waits := p.CrawlDelay()
	rate, rates := p.RequestRate()
	return max(wait, rate), waits || rates
}

// inCell makes a string from a robots.txt fit for a cell of a table, and "-" of an empty one.
func inCell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(plainly.Lines(s))
}

// jsonLines writes an object per line, with "&" and "<" as they are.
func jsonLines(w io.Writer) *json.Encoder {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e
}
