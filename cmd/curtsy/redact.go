package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/crawlcmd"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
	"curtsy/storage/redact"
)

type options struct {
	all, dryRun, json, quiet bool
	reason                   string
	packed                   []string
}

func redactCommand(std cli.Streams) *cobra.Command {
	var o options
	cmd := cli.Command("redact", cli.Flags{
		"all": &o.all, "reason": &o.reason, "wacz": &o.packed, "dry-run": &o.dryRun, "json": &o.json, "quiet": &o.quiet,
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < 2:
			return cli.Usagef("redact takes a crawl directory, and a URL, a host, or HOST/PATH")
		case len(args) > 2:
			return cli.Usagef("redact takes one URL, host or HOST/PATH at a time")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := parseSubject(args[1])
		if err != nil {
			return err
		}
		if strings.ContainsFunc(o.reason, unicode.IsControl) || len(o.reason) > 1000 {
			return cli.Usagef("--reason: must be one line of at most 1000 bytes")
		}
		if err := crawldir.Require(args[0]); err != nil {
			return err
		}
		return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error { return forget(ctx, args[0], s, o, std) })
	}
	return cmd
}

type subject struct {
	redact.Subject
	kind  string // one of the kinds below
	entry string // the same as an entry of opt-out lists
}

const (
	kindURL    = "url"
	kindPart   = "part of a host"
	kindHost   = "host"
	kindDomain = "domain"
)

// parseSubject parses an argument: with a scheme and a path it is one URL, else an entry as in opt-out lists.
func parseSubject(text string) (s subject, err error) {
	if _, rest, schemed := strings.Cut(text, "://"); schemed && strings.Contains(rest, "/") {
		return urlSubject(text)
	}
	return entrySubject(text)
}

func urlSubject(text string) (s subject, err error) {
	if prefix, starred := strings.CutSuffix(text, "*"); starred {
		_, rest, _ := strings.Cut(prefix, "://")
		return s, cli.Usagef("%s: * is taken literally; for all URLs of the host that begin so write %s, without the scheme",
			plainly.OneLine(text), plainly.OneLine(rest))
	}
	u, err := cli.URL(text)
	if err != nil {
		return s, err
	}
	if u.RequestURI() == "/robots.txt" {
		return s, cli.Usagef("%s bound the crawl, which cannot be judged without it: it is removed only with everything of its host (--all) and not before", u)
	}
	s = subject{kind: kindURL, entry: u.String() + "$"}
	s.Text = u.String()
	key := u.Key()
	s.Covers = func(raw string) bool {
		other, err := canon.Parse(raw)
		return err == nil && other.Key() == key
	}
	return s, nil
}

// entrySubject parses an entry of an opt-out list.
func entrySubject(text string) (s subject, err error) {
	if _, err := netip.ParsePrefix(text); err == nil {
		return s, cli.Usagef("%s is a network, and the archive is ordered by URL: name the hosts (curtsy report lists them)", plainly.OneLine(text))
	}
	if strings.ContainsAny(text, "\t\n\r#") || strings.TrimSpace(text) != text {
		return s, cli.Usagef("%s is not a host, URL, or host/path", plainly.OneLine(text))
	}
	list, err := optout.Parse("", []byte(text))
	if err != nil || len(list.Entries()) != 1 {
		return s, cli.Usagef("%s: name a host, a URL, a .domain, or host/path: %w", plainly.OneLine(text), bare(err))
	}
	s = subject{kind: kindHost, entry: text}
	s.Text, s.Host = text, true
	site := text[strings.Index(text, "://")+1:]
	switch _, path, has := strings.Cut(strings.TrimLeft(site, "/"), "/"); {
	case strings.HasPrefix(text, "."):
		s.kind = kindDomain
	case strings.HasSuffix(text, "$"):
		s.kind, s.Host = kindURL, false
	case has && path != "":
		s.kind, s.Host = kindPart, false
	}
	s.Covers = func(raw string) bool {
		u, err := canon.Parse(raw)
		if err != nil {
			return false
		}
		_, under := list.URL(u)
		return under
	}
	return s, nil
}

// bare strips the place from an error in a list of one line.
func bare(err error) error {
	if err == nil {
		return errors.New("invalid entry")
	}
	text := err.Error()
	if _, rest, ok := strings.Cut(text, `": `); ok {
		text = rest
	}
	return errors.New(text)
}

func (s *subject) means() string {
	switch s.kind {
	case kindURL:
		return "only the URL " + s.Text
	case kindPart:
		return "all URLs that begin with " + s.Text
	case kindDomain:
		return "the domain " + s.Text[1:] + " with everything below it"
	}
	return "the host " + s.Text
}

// carryOut carries out a journal, then calls release: the commands that rebuild the derived files lock the directory
// themselves.
func carryOut(ctx context.Context, dir string, f crawldir.Stopped, release func() error, j *redact.Journal, std cli.Streams) error {
	printNote := func(n crawldir.Note) { fmt.Fprintln(std.Err, plainly.Lines(cli.Note(n, dir))) }
	h := redact.Hands{
		Ledger: func() (*ledger.Writer, error) { return f.Ledger(printNote) },
		After:  []redact.Step{{Name: "release", Where: crawldir.FrontierName, Do: func(context.Context) error { return release() }}},
	}
	if j.OptOut != "" {
		h.Before = append(h.Before, redact.Step{Name: "add to", Where: crawldir.OptOutName, Do: func(context.Context) error {
			_, err := optout.Append(filepath.Join(dir, crawldir.OptOutName), []string{j.OptOut}, j.Reason)
			return err
		}})
	}
	h.Before = append(h.Before, redact.Step{Name: "keep delays in", Where: crawldir.FrontierName, Do: func(ctx context.Context) error {
		return f.KeepRests(ctx, j.Hosts) // while the ledger still has the lines with the delays
	}})
	derive := func(name, where, note string, do func(ctx context.Context) error) {
		h.After = append(h.After, redact.Step{Name: name, Where: where, Do: func(ctx context.Context) error {
			fmt.Fprintln(std.Err, note)
			return do(ctx)
		}})
	}
	if slices.Contains(j.Made, "mirror") {
		derive("rebuild", "mirror", "rebuilding the mirror", func(ctx context.Context) error { return crawlcmd.Again(ctx, dir) })
	}
	if slices.Contains(j.Made, "report.json") {
		derive("rewrite", "report.json", "rewriting the report", func(ctx context.Context) error {
			return runWithout(ctx, report(quiet(std)), dir)
		})
	}
	for _, path := range j.Packed {
		derive("pack", path, fmt.Sprintf("packing %s again", plainly.OneLine(path)), func(ctx context.Context) error {
			return packAgain(ctx, dir, path, std)
		})
	}
	if err := j.Finish(ctx, dir, h); err != nil {
		return fmt.Errorf("%w\nThe redaction in %s is not finished: curtsy audit, resume or redact finishes it first", err, dir)
	}
	return nil
}

// quiet discards the output.
func quiet(std cli.Streams) cli.Streams {
	std.Out, std.Err = io.Discard, io.Discard
	return std
}

// maxManifest bounds the manifest that is read, in bytes.
const maxManifest = 64 << 20

// manifest is the part of a packed file's manifest that a new pack keeps.
type manifest struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

// packAgain packs a crawl again into its packed file, with the title it has. A file that is gone stays gone.
func packAgain(ctx context.Context, dir, path string, std cli.Streams) error {
	m, err := packedOfCrawl(dir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	fresh := strings.TrimSuffix(path, packedSuffix) + ".forget-new" + packedSuffix
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) { // a kill leaves it
		return err
	}
	args := []string{"--format", "wacz", "--output", fresh, "--title", m.Title, "--description", m.Description, "--", dir}
	if err := runWithout(ctx, exportCommand(quiet(std)), args...); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return err
	}
	return durable.Names(filepath.Dir(path))
}

const packedSuffix = ".wacz"

// packedOf returns the absolute paths of the packed files in a crawl directory, and of those named. Each must be of this crawl:
// no redaction here can remove a page from another crawl's file.
func packedOf(dir string, named []string) (paths []string, err error) {
	there, err := crawldir.Entries(dir, "", packedSuffix)
	if err != nil {
		return nil, err
	}
	for i, path := range slices.Concat(there, named) {
		if !strings.HasSuffix(path, packedSuffix) {
			if i < len(there) {
				continue
			}
			return nil, cli.Usagef("--wacz %s: the name of a WACZ file ends in %s", path, packedSuffix)
		}
		if strings.HasSuffix(path, ".forget-new"+packedSuffix) && i < len(there) {
			continue // a kill leaves it
		}
		if _, err := packedOfCrawl(dir, path); err != nil {
			return nil, fmt.Errorf("%w; nothing was changed", err)
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(paths, whole) {
			paths = append(paths, whole)
		}
	}
	return paths, nil
}

// packedOfCrawl reads a packed file. It refuses one of another crawl, by the origin of its ledger.
func packedOfCrawl(dir, path string) (m manifest, err error) {
	f, err := durable.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return m, err
	}
	z, err := zip.NewReader(f, fi.Size())
	if err != nil {
		return m, fmt.Errorf("%s is not a readable WACZ file: remove it, or move it out of the directory: %w", path, err)
	}
	ours, err := ledger.Origin(filepath.Join(dir, crawldir.LedgerName))
	if err != nil {
		return m, err
	}
	note, err := inPacked(z, "ledger/"+ledger.CheckpointName, checkpoint.MaxNote)
	var theirs *checkpoint.Note
	if err == nil {
		theirs, err = checkpoint.Parse(note)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, fmt.Errorf("%s has no checkpoint that says of which crawl it is: delete it, or move it out of the directory", path)
	case err != nil:
		return m, fmt.Errorf("%s: %w", path, err)
	case theirs.Origin != ours:
		return m, fmt.Errorf("%s is not a package of the crawl in %s: redact it in its crawl's directory, or delete it", path, dir)
	}
	text, err := inPacked(z, "datapackage.json", maxManifest)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return m, fmt.Errorf("%s: datapackage.json: %w", path, err)
	}
	return m, nil
}

// inPacked reads at most most bytes of a member.
func inPacked(z *zip.Reader, name string, most int64) ([]byte, error) {
	in, err := z.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return io.ReadAll(io.LimitReader(in, most))
}

// forget redacts in a crawl directory that no other process holds.
func forget(ctx context.Context, dir string, s subject, o options, std cli.Streams) error {
	if err := crawldir.RequireWhole(dir); err != nil {
		return err
	}
	if _, err := control.Connect(ctx, dir); err == nil {
		return running(dir, s.entry)
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
		j, found = finished, finished.Found // the interrupted redaction was this one: its salt was never printed
		fmt.Fprint(std.Err, text.Render("redact", redactText{s.means(), o.dryRun, found, j, dir}))
		return o.print(std, &s, found, j)
	case errors.Is(err, redact.ErrDone):
		fmt.Fprintf(std.Err, "%s: no bodies are left; --all removes everything else\n", plainly.OneLine(s.means()))
		return o.print(std, &s, found, nil)
	case errors.Is(err, redact.ErrNothing):
		if o.dryRun {
			leftOpen(dir, std)
		}
		of := strings.TrimPrefix(s.means(), "only ")
		if s.kind == kindPart {
			of = "the URLs that begin with " + s.Text
		}
		return fmt.Errorf("%s has %w of %s%s", dir, errNothing, of, o.nothing(ctx, dir))
	case err != nil:
		return err
	}
	if o.dryRun {
		leftOpen(dir, std)
	}
	fmt.Fprint(std.Err, text.Render("redact", redactText{s.means(), o.dryRun, found, j, dir}))
	return o.print(std, &s, found, j)
}

// leftOpen notes the segment that a dry run does not search.
func leftOpen(dir string, std cli.Streams) {
	open, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz.open")
	if err == nil && len(open) > 0 {
		fmt.Fprintln(std.Err, "note: a kill left the last WARC file open, and nothing was looked for in it; without\n"+
			"--dry-run, or by curtsy resume, it is completed first")
	}
}

var errNothing = errors.New("nothing")

// nothing returns a hint where else records may be, or why they may be gone.
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

// lookedFor shows the progress of a search in the archive.
func lookedFor(ctx context.Context, dir string, quiet bool, std cli.Streams, do func(ctx context.Context) error) error {
	return progress.While(ctx, std.Err, quiet, progress.NewWork("redact", "").Reads(1, filepath.Join(dir, crawldir.ArchiveName)), do)
}

// running is the error for a running crawl.
func running(dir, entry string) error {
	word := plainly.Argument(dir)
	if entry == "" {
		return fmt.Errorf("a redaction or the crawl is running in %s: wait for its end, and run the command again", dir)
	}
	return fmt.Errorf("the crawl in %s is running, so nothing can be removed. Stop further requests "+
		"at once with curtsy optout add %s %s; then interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), "+
		"repeat this command, and continue with curtsy resume %s", dir, word, plainly.Argument(entry), word)
}

// inUse is an error that Is frontier.ErrInUse.
type inUse struct{ error }

func (inUse) Is(err error) bool { return err == frontier.ErrInUse }

// holdCrawl locks a stopped crawl for do, until do calls release or returns.
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

// finishRedaction finishes an interrupted redaction, or removes its preparations.
func finishRedaction(ctx context.Context, dir string, std cli.Streams) error {
	j, err := finish(ctx, dir, std)
	if j != nil { // the interrupted command did not print the salt
		fmt.Fprintf(std.Err, "%s is redacted; the salt of its mark is kept nowhere else: %s\n", plainly.OneLine(j.Subject), plainly.OneLine(j.Salt))
	}
	return err
}

// finish finishes an interrupted redaction and returns its journal, or nil without one.
func finish(ctx context.Context, dir string, std cli.Streams) (j *redact.Journal, err error) {
	if !redact.Left(dir) {
		return nil, nil
	}
	err = holdCrawl(ctx, dir, "", func(f crawldir.Stopped, release func() error) (err error) {
		if j, err = redact.Open(dir); err != nil || j == nil {
			return err
		}
		fmt.Fprintf(std.Err, "finishing an interrupted redaction first\n")
		// The journal may have come with a copied directory: it must not name files elsewhere.
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
		return nil, nil // another process prepares it, or a crawl runs beside the leftovers of a kill: nothing is changed yet
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// redactFirst has a command first finish the interrupted redactions of its crawl directories.
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

// redactEntries redacts the bodies that entries of a crawl's opt-out list cover. It reports an entry that covers none.
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

func runWithout(ctx context.Context, cmd *cobra.Command, args ...string) error {
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

// redactionJSON is the JSON form of a redaction.
type redactionJSON struct {
	Subject string     `json:"subject"`
	Kind    string     `json:"kind"`
	Extent  string     `json:"extent"`
	DryRun  bool       `json:"dry_run"`
	Time    *time.Time `json:"time,omitempty"`
	Salt    string     `json:"salt,omitempty"`
	Digest  string     `json:"subject_sha256,omitempty"`
	redact.Found
}

// print prints the JSON form, if --json is set. j is nil where nothing was redacted.
func (o *options) print(std cli.Streams, s *subject, f redact.Found, j *redact.Journal) error {
	if !o.json {
		return nil
	}
	t := redactionJSON{Subject: s.Text, Kind: s.kind, Extent: ledger.ExtentBodies, DryRun: o.dryRun, Found: f}
	if o.all {
		t.Extent = ledger.ExtentAll
	}
	if j != nil {
		t.Time, t.Salt, t.Digest = &j.Time, j.Salt, j.Digest
	}
	return cli.WriteJSON(std.Out, t)
}

type redactText struct {
	What   string
	DryRun bool
	redact.Found
	Journal *redact.Journal // nil where nothing was redacted
	Dir     string
}
