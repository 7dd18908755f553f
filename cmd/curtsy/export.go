package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/export"
	"curtsy/frontier/durable"
	"curtsy/storage/graph"
	"curtsy/storage/plainly"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
)

// exportOptions are the flags.
type exportOptions struct {
	format, out     string
	graph           string
	tables          []string
	headers, exact  bool
	overwrite, json bool
	noLanguage      bool
	title, about    string // of a WACZ file
	quiet           bool
}

// exportCommand is curtsy export.
func exportCommand(std cli.Streams) *cobra.Command {
	o := exportOptions{format: string(sink.Parquet)}
	cmd := cli.Command("export", cli.Flags{
		"format": &o.format, "graph": &o.graph, "tables": (*cli.List)(&o.tables), "output": &o.out, "headers": &o.headers,
		"exact-csv": &o.exact, "no-language": &o.noLanguage, "overwrite": &o.overwrite,
		"title": &o.title, "description": &o.about, "quiet": &o.quiet, "json": &o.json,
	})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s takes one crawl directory or more: write %s", cmd.Name(), cmd.UseLine())
		}
		return nil
	}
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error { return exportRun(ctx, args, o, std) })
	flags := cmd.Flags()
	cli.Words(flags, "format", formats()...)
	cli.Words(flags, "graph", "pages", "hosts", "domains")
	cli.Words(flags, "tables", exportNames()...)
	return cmd
}

func exportNames() []string {
	var all []string
	for _, s := range export.Sources() {
		all = append(all, s.Table.Name)
	}
	return all
}

// sources are the tables that were asked for.
func (o *exportOptions) sources(form sink.Format) ([]export.Source, error) {
	if form == sink.WET {
		if o.headers || slices.ContainsFunc(o.tables, func(name string) bool { return name != tables.Reading.Name }) {
			return nil, cli.Usagef("--format wet makes the table %s and no other", tables.Reading.Name)
		}
		o.tables = []string{tables.Reading.Name}
	}
	for _, name := range o.tables {
		if !slices.Contains(exportNames(), name) {
			near := ""
			if n := plainly.Nearest(name, exportNames()); n != "" {
				near = "; did you mean " + n + "?"
			}
			return nil, cli.Usagef("--tables: no table %q%s; there are %s", name, near, strings.Join(exportNames(), ", "))
		}
	}
	var all []export.Source
	for _, s := range export.Sources() {
		switch {
		case slices.Contains(o.tables, s.Table.Name), len(o.tables) == 0 && !s.Asked, o.headers && s.Table.Name == "headers":
			all = append(all, s)
		}
	}
	return all, nil
}

func exportRun(ctx context.Context, dirs []string, o exportOptions, std cli.Streams) (err error) {
	switch {
	case o.format == formatWACZ:
		return pack(ctx, dirs, o, std)
	case o.title != "" || o.about != "":
		return cli.Usagef("--title and --description are for --format wacz")
	case o.isGraph():
		return runGraph(ctx, dirs, o, std)
	}
	form, err := sink.Parse(o.format)
	if err != nil {
		return noFormat(o.format)
	}
	sources, err := o.sources(form)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := mustHoldCrawl(dir); err != nil {
			return err
		}
	}
	out := o.folder(dirs)
	if err := mayHold(out); err != nil {
		return err
	}
	in, err := export.Open(ctx, "", dirs...)
	if errors.Is(err, export.ErrTwice) {
		return cli.Usagef("%w", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	in.NoLanguage = o.noLanguage
	defer cli.Bound()()
	if err := bound(ctx, in, std); err != nil {
		return err
	}
	say := teller{std: std, out: out, work: progress.NewWork("export", "row"), to: progress.New(std.Err, o.quiet, false)}
	var m *export.Manifest
	err = say.to.While(ctx, say.work, func(ctx context.Context) (err error) {
		m, err = export.Write(ctx, in, export.Options{
			Dir: out, Format: form, Sources: sources, Anew: o.overwrite, Told: say.made, Going: say.going,
			Sink: sink.Options{Version: crawldir.Version, ExactCSV: o.exact},
		})
		return err
	})
	switch {
	case errors.Is(err, export.ErrOthers):
		return cli.Usagef("%w; name another folder with -o, or remove it", err)
	case errors.Is(err, durable.ErrHeld):
		return fmt.Errorf("another curtsy export writes to %s: wait for its end, or name another folder with -o", out)
	case err != nil:
		return err
	}
	for _, file := range m.Outdated {
		fmt.Fprintf(std.Err, "note: %s is from other crawls or an earlier state: rewrite it with --overwrite, or delete it\n", plainly.Lines(filepath.Join(out, file)))
	}
	if o.json {
		if err := cli.WriteJSON(std.Out, m); err != nil {
			return err
		}
	}
	if say.differ {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

// folder is where the files go.
func (o *exportOptions) folder(dirs []string) string {
	switch {
	case o.out != "":
		return o.out
	case len(dirs) > 1:
		return "tables"
	}
	whole, err := filepath.Abs(dirs[0])
	if err != nil {
		whole = dirs[0]
	}
	return filepath.Base(whole) + "-tables"
}

// bound has what runs be read up to its checkpoint, and says what a kill left.
func bound(ctx context.Context, in *export.Inputs, std cli.Streams) error {
	for _, c := range in.Crawls {
		_, err := control.Connect(ctx, c.Dir)
		switch {
		case err == nil && c.Head == "":
			return fmt.Errorf("the crawl in %s is running and its ledger has no checkpoint yet: wait for a minute, or for its end", c.Dir)
		case err == nil:
			c.Entries = c.Size
			fmt.Fprintf(std.Err, "note: the crawl in %s is running: its ledger counts up to its checkpoint of %s, its archive as it is now\n",
				plainly.Lines(c.Dir), plainly.Count(c.Size, "line"))
		case !errors.Is(err, control.ErrNotRunning):
			return err
		case c.Open:
			fmt.Fprintf(std.Err, "note: a kill left a segment of %s open, whose last records its index may not have: curtsy resume completes both\n",
				plainly.Lines(c.Dir))
		}
	}
	return nil
}

// mustHoldCrawl refuses what has no archive, index and ledger.
func mustHoldCrawl(dir string) error {
	if err := crawldir.Inspect(dir); err != nil {
		return err
	}
	for _, name := range []string{crawldir.LedgerName, crawldir.ArchiveName} {
		fi, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err == nil && fi.IsDir():
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
				return crawldir.NotDirectory(dir)
			}
			return cli.Usagef("%s holds no crawl: no folder %s in it; begin one with curtsy crawl", dir, name)
		default:
			return fmt.Errorf("crawl directory: %w", err)
		}
	}
	return nil
}

// mayHold refuses a folder that cannot take what is made, and one within a crawl directory: what is exported is no part
// of a crawl, so that neither the audit nor a takedown would know it.
func mayHold(out string) error {
	if fi, err := os.Stat(out); err == nil && !fi.IsDir() {
		return cli.Usagef("--output: %s is a file: name a folder", plainly.Lines(out))
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	for is := crawldir.Place().Is; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if is(dir) {
			return cli.Usagef("--output: %s is inside the crawl directory %s: use a path outside", plainly.Lines(out), plainly.Lines(dir))
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// formats are the words for --format.
func formats() (all []string) {
	for _, f := range append(sink.Formats(), sink.WET) {
		all = append(all, string(f))
	}
	return append(all, graph.Name, formatWACZ)
}

// noFormat is the error for an unknown format.
func noFormat(word string) error {
	all := formats()
	near := ""
	if n := plainly.Nearest(word, all); n != "" {
		near = "; did you mean " + n + "?"
	}
	return cli.Usagef("--format: no format %q%s; there are %s", word, near, strings.Join(all, ", "))
}

// teller tells people how far an export is.
type teller struct {
	std    cli.Streams
	out    string
	work   *progress.Work
	to     *progress.Display
	differ bool // a count did not agree
	warned bool // of lost lines
}

// going tells how many rows a table has so far.
func (t *teller) going(table string, rows int64) { t.work.At(table, rows) }

// made tells of a table.
func (t *teller) made(m *export.Made) {
	path := plainly.Lines(filepath.Join(t.out, m.File))
	if m.Again {
		t.to.Tell("%-10s %10s  %9s  as it was: %s", m.Table, plainly.Count(m.Rows, "row"), plainly.RoughSize(m.Octets), path)
	} else {
		t.to.Tell("%-10s %10s  %9s  in %.1f s: %s", m.Table, plainly.Count(m.Rows, "row"), plainly.RoughSize(m.Octets), m.Seconds, path)
	}
	t.counts("skipped", m.LeftOut)
	t.counts("rows that lack values", m.Problems)
	t.counts("read", m.Notes)
	if lost := m.LeftOut[export.LostLines]; lost > 0 && !t.warned {
		t.warned = true
		t.to.Tell("           WARNING: the ledger lacks %s; curtsy audit has details", plainly.Count(lost, "line"))
	}
	switch c := m.Check; {
	case c == nil:
	case !c.Agrees():
		t.differ = true
		t.to.Tell("           COUNTS DIFFER: %d %s, and %d in the table", c.Counted, c.Of, c.Rows)
	default:
		t.to.Tell("           matches the %d %s", c.Counted, c.Of)
	}
}

func (t *teller) counts(what string, of map[string]int64) {
	if len(of) == 0 {
		return
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%d %s", of[reason], plainly.Lines(plainly.LeftOut(reason))))
	}
	t.to.Tell("           %s: %s", what, strings.Join(all, ", "))
}
