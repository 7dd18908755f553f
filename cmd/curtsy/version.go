package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// build is what a program says of itself, for reports of bugs and for who wants to make it again.
type build struct {
	Version  string    `json:"version"`
	Commit   string    `json:"commit,omitempty"` // of the source; empty where the build does not say
	Time     time.Time `json:"time,omitzero"`    // of the commit
	Modified bool      `json:"modified,omitempty"`
	Go       string    `json:"go"`
	System   string    `json:"system"`
}

func thisBuild() build {
	b := build{Version: crawldir.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Time = at.UTC()
			}
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	text := fmt.Sprintf("curtsy %s %s %s\n", b.Version, b.System, b.Go)
	if b.Commit == "" {
		return text
	}
	changed := ""
	if b.Modified {
		changed = ", with changes"
	}
	return text + fmt.Sprintf("commit %s of %s%s\n", b.Commit, b.Time.Format("2006-01-02"), changed)
}

// versionText is what curtsy version prints.
func versionText() string { return thisBuild().String() }

// newVersion is curtsy version.
func newVersion(std cli.Streams) *cobra.Command {
	var asJSON bool
	cmd := cli.Command("version")
	cmd.Args = cli.NoArgs
	cmd.RunE = func(*cobra.Command, []string) error {
		if asJSON {
			return cli.WriteJSON(std.Out, thisBuild())
		}
		_, err := fmt.Fprint(std.Out, versionText())
		return err
	}
	cli.JSONFlag(cmd, &asJSON, "print one JSON object")
	return cmd
}
