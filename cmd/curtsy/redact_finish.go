package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/ledger"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

// forget forgets in a crawl directory that nobody else has.
func forget(ctx context.Context, dir string, s subject, o options, std cli.Streams) error {
	if err := crawldir.RequireWhole(dir); err != nil {
		return err
	}
	if err := mustNotRun(ctx, dir, s.entry); err != nil {
		return err
	}
	finished, err := finish(ctx, dir, std)
	if err != nil {
		return err
	}
	packed, err := packedOf(dir, o.packed)
	if err != nil {
		return err
	}
	r := redact.Request{Dir: dir, Subject: s.Subject, All: o.all, Reason: o.reason, OptOut: s.entry, Packed: packed}
	var j *redact.Journal
	var found redact.Found
	err = holdCrawl(ctx, dir, s.entry, func(f crawldir.Stopped, release func() error) error {
		if o.dryRun {
			err = lookedFor(ctx, dir, o.quiet, std, func(ctx context.Context) (err error) {
				found, err = redact.Find(ctx, r)
				return err
			})
			return err
		}
		if err := errors.Join(f.MayMark(), f.Mend(ctx, nil)); err != nil {
			return err
		}
		err := lookedFor(ctx, dir, o.quiet, std, func(ctx context.Context) (err error) {
			j, err = redact.Prepare(ctx, r)
			return err
		})
		if errors.Is(err, redact.ErrDone) {
			found, _ = redact.Find(ctx, r) // for its counts
		}
		if err != nil {
			return err
		}
		found = j.Found
		return carryOut(ctx, dir, f, release, j, std)
	})
	same := finished != nil && finished.Subject == s.Text && (finished.Extent == ledger.ExtentAll) == o.all
	switch {
	case same && (errors.Is(err, redact.ErrNothing) || errors.Is(err, redact.ErrDone)):
		j, found = finished, finished.Found // it was this that was broken off: nobody has been told its salt
		fmt.Fprint(std.Err, text.Render("redact", redactText{s.means(), o.dryRun, found, j, dir}))
		return o.print(std, &s, found, j)
	case errors.Is(err, redact.ErrDone):
		fmt.Fprintf(std.Err, "%s: no bodies are left; --all removes everything else\n", plainly.OneLine(s.means()))
		return o.print(std, &s, found, nil)
	case errors.Is(err, redact.ErrNothing):
		if o.dryRun {
			leftOpen(dir, std)
		}
		return fmt.Errorf("%s has %w of %s%s", dir, errNothing, s.of(), o.nothing(ctx, dir))
	case err != nil:
		return err
	}
	if o.dryRun {
		leftOpen(dir, std)
	}
	fmt.Fprint(std.Err, text.Render("redact", redactText{s.means(), o.dryRun, found, j, dir}))
	return o.print(std, &s, found, j)
}

// leftOpen says what a dry run did not look at.
func leftOpen(dir string, std cli.Streams) {
	open, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz.open")
	if err == nil && len(open) > 0 {
		fmt.Fprintln(std.Err, "note: a kill left the last WARC file open, and nothing was looked for in it; without\n"+
			"--dry-run, or by curtsy resume, it is completed first")
	}
}

// errNothing says that a directory has nothing of a subject.
var errNothing = errors.New("nothing")

// nothing says where else something may be, or why it may be gone.
func (o *options) nothing(ctx context.Context, dir string) (s string) {
	if !o.all {
		s = " with a body; --all also finds requests, refusals and ledger lines"
	}
	marks, err := redact.Marks(ctx, dir)
	if err != nil || marks.Lines() == 0 {
		return s
	}
	return s + fmt.Sprintf("; of its ledger, %s redacted earlier", plainly.Count(marks.Lines(), "line"))
}

// lookedFor shows how far the archive is read for what is to be forgotten.
func lookedFor(ctx context.Context, dir string, quiet bool, std cli.Streams, do func(ctx context.Context) error) error {
	return progress.While(ctx, std.Err, quiet, progress.NewWork("redact", "").Reads(1, filepath.Join(dir, crawldir.ArchiveName)), do)
}

// mustNotRun refuses a crawl that runs.
func mustNotRun(ctx context.Context, dir, entry string) error {
	if _, err := control.Connect(ctx, dir); err == nil {
		return running(dir, entry)
	}
	return nil
}

// running says what to do about a crawl that runs.
func running(dir, entry string) error {
	word := plainly.Argument(dir)
	if entry == "" {
		return fmt.Errorf("a redaction or the crawl is running in %s: wait for its end, and run the command again", dir)
	}
	return fmt.Errorf("the crawl in %s is running, so nothing can be removed. Stop further requests "+
		"at once with curtsy optout add %s %s; then interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), "+
		"repeat this command, and continue with curtsy resume %s", dir, word, plainly.Argument(entry), word)
}

// inUse is an error of a directory that somebody else has.
type inUse struct{ error }

func (inUse) Is(err error) bool { return err == frontier.ErrInUse }

// holdCrawl has do work on a crawl that nobody else has, until do releases it or returns.
func holdCrawl(ctx context.Context, dir, entry string, do func(f crawldir.Stopped, release func() error) error) error {
	settings, err := config.Of(dir)
	if err != nil {
		return err
	}
	f, err := crawldir.OpenStopped(ctx, dir, settings)
	if errors.Is(err, frontier.ErrInUse) {
		return inUse{running(dir, entry)}
	}
	if err != nil {
		return cli.Damaged(err, dir)
	}
	released := false
	release := func() error {
		if released {
			return nil
		}
		released = true
		return f.Close()
	}
	return errors.Join(do(f, release), release())
}

// finishRedaction finishes what was begun in a crawl directory, if anything was, or takes away what was prepared.
func finishRedaction(ctx context.Context, dir string, std cli.Streams) error {
	j, err := finish(ctx, dir, std)
	if j != nil { // whoever began it was not told
		fmt.Fprintf(std.Err, "%s is redacted; the salt of its mark is kept nowhere else: %s\n", plainly.OneLine(j.Subject), plainly.OneLine(j.Salt))
	}
	return err
}

// finish returns the journal that it finished, or nil.
func finish(ctx context.Context, dir string, std cli.Streams) (j *redact.Journal, err error) {
	if !redact.Left(dir) {
		return nil, nil
	}
	err = holdCrawl(ctx, dir, "", func(f crawldir.Stopped, release func() error) (err error) {
		if j, err = redact.Open(dir); err != nil || j == nil {
			return err
		}
		fmt.Fprintf(std.Err, "finishing an interrupted redaction first\n")
		// The journal may have come with the directory: files elsewhere are for who named them.
		j.Packed = slices.DeleteFunc(j.Packed, func(path string) bool {
			if whole, err := filepath.Abs(dir); err == nil && filepath.Dir(path) == whole {
				return false
			}
			fmt.Fprintf(std.Err, "%s lies elsewhere: pack it again yourself, with curtsy export --format wacz\n", plainly.OneLine(path))
			return true
		})
		return carryOut(ctx, dir, f, release, j, std)
	})
	if errors.Is(err, frontier.ErrInUse) && !redact.Pending(dir) {
		return nil, nil // somebody is preparing it, or a run goes on beside what a kill left: nothing is changed yet
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// redactFirst has a command finish what was begun in the crawl directories that it is given.
func redactFirst(cmd *cobra.Command, std cli.Streams) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, dir := range args {
			if strings.TrimSpace(dir) == "" || !redact.Left(dir) {
				continue
			}
			if err := cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return finishRedaction(ctx, dir, std) }); err != nil {
				return err
			}
		}
		return run(cmd, args)
	}
	return cmd
}

// entries refuses entries of opt-out lists of which nothing can be forgotten.
func entries(entries []string) error {
	for _, entry := range entries {
		if _, err := entrySubject(entry); err != nil {
			return err
		}
	}
	return nil
}

// redactEntries forgets the bodies of what entries of the opt-out list of a crawl mean, which stand on it. Of one that the
// crawl has nothing of, that is said.
func redactEntries(ctx context.Context, dir string, entries []string, reason string, std cli.Streams) error {
	for _, entry := range entries {
		s, err := entrySubject(entry)
		if err == nil {
			err = forget(ctx, dir, s, options{reason: reason}, std)
		}
		if errors.Is(err, errNothing) {
			fmt.Fprintln(std.Err, plainly.Lines(err.Error()))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runWithout runs another command.
func runWithout(ctx context.Context, cmd *cobra.Command, args ...string) error {
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

// told is the JSON form of what was forgotten.
type told struct {
	Subject string     `json:"subject"`
	Kind    string     `json:"kind"`
	Extent  string     `json:"extent"`
	DryRun  bool       `json:"dry_run"`
	Time    *time.Time `json:"time,omitempty"`
	Salt    string     `json:"salt,omitempty"`
	Digest  string     `json:"subject_sha256,omitempty"`
	redact.Found
}

// print prints the JSON form, if it is wanted. A journal is of what was forgotten.
func (o *options) print(std cli.Streams, s *subject, f redact.Found, j *redact.Journal) error {
	if !o.json {
		return nil
	}
	t := told{Subject: s.Text, Kind: s.kind, Extent: ledger.ExtentBodies, DryRun: o.dryRun, Found: f}
	if o.all {
		t.Extent = ledger.ExtentAll
	}
	if j != nil {
		t.Time, t.Salt, t.Digest = &j.Time, j.Salt, j.Digest
	}
	return cli.WriteJSON(std.Out, t)
}

// redactText is what the template of a redaction takes.
type redactText struct {
	What   string
	DryRun bool
	redact.Found
	Journal *redact.Journal // nil where nothing was redacted
	Dir     string
}
