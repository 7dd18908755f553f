package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// mark stands at the top of every file that install-docs writes, so that it knows its own.
const mark = "Written by curtsy install-docs from the help of the command."

// newInstallDocs is curtsy install-docs.
func newInstallDocs(std cli.Streams) *cobra.Command {
	var prefix string
	var dryRun bool
	cmd := cli.Command("install-docs")
	cmd.Args = cli.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if prefix == "" {
			p, err := usualPrefix()
			if err != nil {
				return err
			}
			prefix = p
		}
		return install(cmd.Root(), prefix, dryRun, std.Out)
	}
	fs := cmd.Flags()
	fs.StringVar(&prefix, "prefix", "", "`FOLDER` write below this folder (default: /usr/local for root, else ~/.local)")
	fs.BoolVar(&dryRun, "dry-run", false, "list what would be written, but write nothing")
	cli.Group(fs, "Where")
	return cmd
}

// usualPrefix is where software goes that no package manager keeps.
func usualPrefix() (string, error) {
	if runtime.GOOS == "windows" {
		return "", cli.Usagef("Windows has no place for manual pages: name a folder with --prefix")
	}
	if os.Geteuid() == 0 {
		return "/usr/local", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("no home folder: %w; name a folder with --prefix", err)
	}
	return filepath.Join(home, ".local"), nil
}

// a page is a file to install.
type shellPage struct {
	path string
	text []byte
}

// docs are all files, in the order of their paths.
func docs(root *cobra.Command, prefix string) ([]shellPage, error) {
	var all []shellPage
	man, err := manual(root, mark, built())
	if err != nil {
		return nil, err
	}
	for name, text := range man {
		all = append(all, shellPage{filepath.Join(prefix, "share", "man", "man1", name), text})
	}
	for shell, path := range map[string]string{
		"bash": "bash-completion/completions/" + root.Name(),
		"zsh":  "zsh/site-functions/_" + root.Name(),
		"fish": "fish/vendor_completions.d/" + root.Name() + ".fish",
	} {
		script, err := completion(root, shell)
		if err != nil {
			return nil, err
		}
		// The first line of a zsh script says what it completes.
		first, rest, _ := bytes.Cut(script, []byte("\n"))
		text := slices.Concat(first, []byte("\n# "+mark+"\n"), rest)
		all = append(all, shellPage{filepath.Join(prefix, "share", filepath.FromSlash(path)), text})
	}
	slices.SortFunc(all, func(a, b shellPage) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	return all, nil
}

// install writes all files, or none if something else stands where one of them belongs.
func install(root *cobra.Command, prefix string, dryRun bool, out io.Writer) error {
	all, err := docs(root, prefix)
	if err != nil {
		return err
	}
	for _, d := range all {
		kind := userfile.Kind{Name: "a manual page or completion", Mark: mark}
		if err := kind.Writable(d.path, crawldir.Place()); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	did := "wrote"
	if dryRun {
		did = "would write"
	}
	for _, d := range all {
		if !dryRun {
			if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
				return err
			}
			if err := durable.WriteFile(d.path, d.text, 0o644); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(out, did, plainly.OneLine(d.path)); err != nil {
			return err
		}
	}
	return nil
}

// built is when the program was made of: the time of its commit, or now where the build does not say.
func built() time.Time {
	if at := thisBuild().Time; !at.IsZero() {
		return at
	}
	return time.Now()
}
