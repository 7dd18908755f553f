// Package cli has the parts that all commands share: streams, exit codes, errors, arguments, flags, help and signals.
// A command returns an error; Report prints it with advice, and returns its exit code.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/plainly"
)

// The exit codes, the same for every command.
const (
	ExitDone       = 0   // done, also when a budget that the user set ended it
	ExitFailed     = 1   // could not do it
	ExitUsage      = 2   // usage or configuration
	ExitFound      = 3   // a check found something
	ExitIncomplete = 4   // a seed got no usable response, hosts are parked, refused or retired, or a mirror lacks files that a command gets
	ExitSignalled  = 128 // plus the signal's number: interrupted, drained cleanly
)

// Error is an error with an exit code. An empty message prints nothing.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error {
	return &Error{ExitUsage, fmt.Errorf(format, args...)}
}

// Absent makes err a usage error if a file that the user named does not exist.
func Absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Usagef("%w", err)
	}
	return err
}

// Silent returns an error with an exit code and no message.
func Silent(code int) error { return &Error{code, errSaid} }

var errSaid = errors.New("")

// Interrupted returns the error of a crawl that a signal ended.
func Interrupted(sig os.Signal) error {
	n := 2
	if s, ok := sig.(syscall.Signal); ok {
		n = int(s)
	}
	return Silent(ExitSignalled + n)
}

// Report prints err and returns its exit code.
func Report(w io.Writer, err error) int {
	text, code := Ended(err)
	if text != "" {
		fmt.Fprintf(w, "curtsy: %s\n", text)
	}
	return code
}

// Ended returns the message of err, "" for none, and its exit code.
func Ended(err error) (text string, code int) {
	if err == nil {
		return "", ExitDone
	}
	code = ExitFailed
	var e *Error
	var misuse *crawldir.Misuse
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.As(err, &misuse):
		code = ExitUsage
	}
	if errors.Is(err, errSaid) {
		return "", code
	}
	text = plainly.Error(err)
	var d *crawldir.DirError
	if errors.As(err, &d) {
		text = strings.Replace(text, d.Error(), d.Error()+advice(d), 1)
	}
	var lines []string // each once: a fault of a command repeats when it closes its files
	for line := range strings.SplitSeq(text, "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return plainly.Lines(strings.Join(lines, "\n")), code
}

// advice returns the command that helps with a directory.
func advice(d *crawldir.DirError) string {
	switch {
	case errors.Is(d, crawldir.ErrNoIndex):
		return "; of a crawl directory make them with curtsy warc index " + plainly.Argument(d.Dir)
	case errors.Is(d, crawldir.ErrNoCrawl):
		if above := filepath.Dir(d.Dir); crawldir.Require(above) == nil {
			return "; give the crawl directory, " + plainly.Argument(above)
		}
		return "; begin one with curtsy crawl"
	case errors.Is(d, crawldir.ErrTaken):
		return ": continue it with curtsy resume " + plainly.Argument(d.Dir) + ", or name another with --dir"
	case errors.Is(d, crawldir.ErrNotEmpty):
		return ": name another directory with --dir"
	case errors.Is(d, crawldir.ErrNotEnded):
		return ": continue it with curtsy resume " + plainly.Argument(d.Dir) + ", then update it"
	case errors.Is(d, crawldir.ErrTouched):
		return ": run the command again"
	}
	return ""
}

// Note returns the text of a note about the crawl in dir, with the commands that help.
func Note(n crawldir.Note, dir string) string {
	switch n.Kind {
	case crawldir.IndexDamaged:
		return n.Text + "; see curtsy warc check"
	case crawldir.IndexWrong:
		return n.Text + ": curtsy warc index rebuilds it"
	case crawldir.Quarantined:
		return fmt.Sprintf("%s. See curtsy frontier ls --urls --reason %s %s; try again with curtsy frontier retry --reason %s %s",
			n.Text, frontier.ReasonQuarantined, plainly.Argument(dir), frontier.ReasonQuarantined, plainly.Argument(dir))
	}
	return n.Text
}

// Ordered makes an invalid command of an operator a usage error.
func Ordered(err error) error {
	if control.BadOrder(err) {
		return Usagef("%w", err)
	}
	return err
}

// InUse adds the commands to use if another process holds the frontier, or if it is damaged.
func InUse(err error, dir string) error {
	if errors.Is(err, frontier.ErrInUse) {
		return fmt.Errorf("%w; stop the crawl first, see curtsy status %s, and continue with curtsy resume afterwards", err, plainly.Argument(dir))
	}
	return Damaged(err, dir)
}

// Damaged adds the commands to use if the frontier is damaged.
func Damaged(err error, dir string) error {
	if errors.Is(err, frontier.ErrDamaged) {
		return fmt.Errorf("%w\nDescribe the damage with curtsy frontier repair --dry-run %s, and save the readable part with curtsy frontier repair %s", err, plainly.Argument(dir), plainly.Argument(dir))
	}
	return err
}

// Finish completes root and the commands below it: their usage lines, --help-all, and wrong arguments as usage errors.
func Finish(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return Usagef("%w", err)
			}
			return nil
		}
	}
	addHelpAll(cmd)
	for _, sub := range cmd.Commands() {
		Finish(sub)
	}
}

// KnownCommand refuses an unknown command, and suggests the nearest.
func KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := plainly.Nearest(args[0], names); near != "" {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], near)
	}
	return fmt.Errorf("unknown command %q; see %s --help", args[0], cmd.CommandPath())
}

// Exactly is for commands that take n arguments, described by what.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s takes %s, not %d: write %s", cmd.Name(), what, len(args), cmd.UseLine())
	}
}

func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

// FrontierFile calls do with a file that has the frontier of the crawl in dir: its own if the crawl is stopped, else a
// temporary snapshot that the running crawl writes.
func FrontierFile(ctx context.Context, dir string, do func(ctx context.Context, path string) error) error {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	remote, asked := control.Connect(ctx, dir)
	if asked != nil {
		return do(ctx, filepath.Join(dir, crawldir.FrontierName))
	}
	if locator := engine.Locator(dir); locator != "" { // a server needs no snapshot
		return do(ctx, locator)
	}
	return UntilSignal(ctx, func(ctx context.Context) error { // a signal also removes the snapshot
		path, err := remote.Snapshot(ctx)
		if err != nil {
			return fmt.Errorf("the running crawl could not write a snapshot: %w", err)
		}
		return errors.Join(do(ctx, path), os.Remove(path))
	})
}

// Reading calls do with the frontier of the crawl in dir, running or not.
func Reading(ctx context.Context, dir string, do func(ctx context.Context, f frontier.Stored) error) error {
	return FrontierFile(ctx, dir, func(ctx context.Context, path string) error {
		f, err := engine.OpenReadOnly(path)
		if err != nil {
			return InUse(err, dir)
		}
		return Damaged(errors.Join(do(ctx, f), f.Close()), dir)
	})
}

// WhileStopped calls do with the frontier of a stopped crawl, which cannot start until do returns.
func WhileStopped(ctx context.Context, dir string, do func(f frontier.Stored) error) error {
	_, asked := control.Connect(ctx, dir)
	f, err := engine.OpenReadOnly(dir)
	if asked == nil || errors.Is(err, frontier.ErrInUse) {
		if err == nil {
			err = f.Close() // it ended in between; the next try works
		}
		if errors.Is(err, frontier.ErrInUse) {
			err = nil
		}
		return errors.Join(fmt.Errorf("the crawl in %s is running, and its archive must not change meanwhile: interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), or wait for its end, and run the command again", dir), err)
	}
	if err != nil {
		return Damaged(err, dir)
	}
	return errors.Join(do(f), f.Close())
}
