package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/export"
	"curtsy/frontier"
	"curtsy/frontier/durable"
	"curtsy/storage/graph"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/tables"
	"curtsy/storage/tables/sink"
	"curtsy/storage/wacz"
)

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

// sources returns the tables to export.
func (o *exportOptions) sources(form sink.Format) ([]export.Source, error) {
	if form == sink.WET {
		if o.headers || slices.ContainsFunc(o.tables, func(name string) bool { return name != tables.Reading.Name }) {
			return nil, cli.Usagef("--format wet makes the table %s and no other", tables.Reading.Name)
		}
		o.tables = []string{tables.Reading.Name}
	}
	for _, name := range o.tables {
		if !slices.Contains(exportNames(), name) {
			return nil, cli.Usagef("--tables: no table %q%s; there are %s", name, didYouMean(name, exportNames()), strings.Join(exportNames(), ", "))
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
	case o.graph != "" || o.format == graph.Name:
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
		if err := mustHold(dir, crawldir.LedgerName, crawldir.ArchiveName); err != nil {
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
	display := exportProgress{std: std, out: out, work: progress.NewWork("export", "row"), to: progress.New(std.Err, o.quiet, false)}
	var m *export.Manifest
	err = display.to.While(ctx, display.work, func(ctx context.Context) (err error) {
		m, err = export.Write(ctx, in, export.Options{
			Dir: out, Format: form, Sources: sources, Overwrite: o.overwrite, Done: display.made, Progress: display.work.At,
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
	if display.differ {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

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

// bound limits the export of a running crawl to its checkpoint, and reports a segment that a kill left open.
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

// mustHold refuses a directory without these folders of a crawl.
func mustHold(dir string, names ...string) error {
	if err := crawldir.Inspect(dir); err != nil {
		return err
	}
	for _, name := range names {
		fi, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err == nil && fi.IsDir():
			continue
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return fmt.Errorf("crawl directory: %w", err)
		}
		if fi, err := os.Stat(dir); err == nil && !fi.IsDir() {
			return crawldir.NotDirectory(dir)
		}
		if _, err := os.Stat(filepath.Join(dir, crawldir.FrontierName)); err == nil && len(names) == 1 {
			return fmt.Errorf("%s is missing: put it back; the report needs it", filepath.Join(dir, name))
		}
		return cli.Usagef("%s holds no crawl: no folder %s in it; begin one with curtsy crawl", dir, name)
	}
	return nil
}

// mayHold refuses a file, and a folder inside a crawl directory: neither the audit nor a takedown would find the export there.
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

func formats() (all []string) {
	for _, f := range append(sink.Formats(), sink.WET) {
		all = append(all, string(f))
	}
	return append(all, graph.Name, formatWACZ)
}

func noFormat(word string) error {
	return cli.Usagef("--format: no format %q%s; there are %s", word, didYouMean(word, formats()), strings.Join(formats(), ", "))
}

// exportProgress shows the progress of an export.
type exportProgress struct {
	std    cli.Streams
	out    string
	work   *progress.Work
	to     *progress.Display
	differ bool // a count did not agree
	warned bool // of lost lines
}

// made reports a finished table.
func (t *exportProgress) made(m *export.Made) {
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

func (t *exportProgress) counts(what string, of map[string]int64) {
	if len(of) == 0 {
		return
	}
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%d %s", of[reason], plainly.Lines(plainly.LeftOut(reason))))
	}
	t.to.Tell("           %s: %s", what, strings.Join(all, ", "))
}

// madeGraph is the JSON form of a graph.
type madeGraph struct {
	Level    string   `json:"level"`
	Vertices int      `json:"vertices"`
	Edges    int64    `json:"edges"`
	Links    int64    `json:"links"`
	Within   int64    `json:"links_within"`
	NoURL    int64    `json:"links_no_web_address"`
	LeftOut  int64    `json:"links_left_out"`
	Files    []string `json:"files"`
}

func runGraph(ctx context.Context, dirs []string, o exportOptions, std cli.Streams) (err error) {
	level, err := graph.ParseLevel(cmp.Or(o.graph, graph.Hosts.String()))
	if err != nil {
		return cli.Usagef("--graph: no level %q; there are pages, hosts, domains", o.graph)
	}
	if len(o.tables) > 0 || o.headers || o.overwrite {
		return cli.Usagef("a graph has other tables: omit --tables, --headers and --overwrite")
	}
	var archives []string
	for _, dir := range dirs {
		if err := mustHold(dir, crawldir.LedgerName, crawldir.ArchiveName); err != nil {
			return err
		}
		archives = append(archives, filepath.Join(dir, crawldir.ArchiveName))
	}
	out := o.out
	switch {
	case out == "" && len(dirs) > 1:
		out = "graph"
	case out == "":
		out = strings.TrimSuffix(o.folder(dirs), "-tables") + "-graph"
	}
	write, err := o.graphWriter(level, out)
	if err != nil {
		return err
	}
	var g *graph.Graph
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("graph", "").Reads(1, archives...), func(ctx context.Context) (err error) {
		g, err = graph.ArchivedGraph(ctx, graph.Options{Level: level}, archives...)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	files, err := write(ctx, &graph.Document{Level: g.Level, Graph: g})
	if err != nil {
		return err
	}
	m := madeGraph{
		Level: level.String(), Vertices: g.Order(), Edges: g.Size(), Links: g.Counts.Links, Within: g.Counts.Within, NoURL: g.Counts.NoURL,
		LeftOut: g.Counts.LeftOut, Files: files,
	}
	fmt.Fprint(std.Err, text.Render("graph", m))
	if o.json {
		return cli.WriteJSON(std.Out, m)
	}
	return nil
}

// graphWriter makes the folder and returns the function that writes into it.
func (o *exportOptions) graphWriter(level graph.Level, out string) (write func(context.Context, *graph.Document) ([]string, error), err error) {
	if err := mayHold(out); err != nil {
		return nil, err
	}
	made := userfile.Kind{Name: "a graph", Mark: graph.Mark}
	names := []string{graph.File(level)}
	write = func(ctx context.Context, d *graph.Document) ([]string, error) {
		path, err := d.Write(ctx, out)
		return []string{path}, err
	}
	if o.format != graph.Name {
		names = nil
		f, err := sink.Parse(o.format)
		if err != nil {
			return nil, noFormat(o.format)
		}
		if f == sink.WET {
			return nil, cli.Usagef("--format wet has texts of pages: leave --graph away, or name another format")
		}
		set, err := sink.NewSet(f, out, sink.Options{Version: crawldir.Version, ExactCSV: o.exact})
		if err != nil {
			return nil, err
		}
		made.Mark = "" // files of these formats have no mark of curtsy: none is replaced
		for _, t := range []*tables.Table{&tables.Vertices, &tables.Edges} {
			if name := filepath.Base(set.Path(t)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		write = func(_ context.Context, d *graph.Document) ([]string, error) { return graphTables(set, d) }
	}
	for _, name := range names {
		if err := cli.MayWrite("--output", filepath.Join(out, name), made); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, fmt.Errorf("make the folder of the graph: %w", err)
	}
	return write, nil
}

func graphTables(set *sink.Set, d *graph.Document) (files []string, err error) {
	defer set.Abort()
	for _, each := range []struct {
		table *tables.Table
		rows  func(func(tables.Row) error) error
	}{{&tables.Vertices, d.VertexRows}, {&tables.Edges, d.EdgeRows}} {
		s, err := set.Create(each.table)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(each.rows(s.Write), s.Close()); err != nil {
			s.Abort()
			return nil, err
		}
		if path := set.Path(each.table); !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files, set.Close()
}

const formatWACZ = "wacz"

// pack packs a stopped crawl into one WACZ file: the archive with its index, a list of its pages, the ledger, and the
// report and the audit if they exist.
func pack(ctx context.Context, dirs []string, o exportOptions, std cli.Streams) error {
	switch {
	case len(dirs) > 1:
		return cli.Usagef("--format wacz takes one crawl directory")
	case o.graph != "" || len(o.tables) > 0 || o.headers || o.overwrite:
		return cli.Usagef("--graph, --tables, --headers and --overwrite are not for --format wacz")
	}
	dir := dirs[0]
	if o.out == "" {
		o.out = strings.TrimSuffix(o.folder(dirs), "-tables") + ".wacz"
	}
	if !strings.HasSuffix(o.out, ".wacz") { // the specification requires it, and players rely on it
		return cli.Usagef("--output %s: the name of a WACZ file ends in .wacz", o.out)
	}
	if err := cli.MayWrite("--output", o.out, userfile.Kind{}); err != nil {
		return err
	}
	if err := crawldir.RequireWhole(dir); err != nil {
		return err
	}
	if err := mendKilled(ctx, dir, std); err != nil {
		return err
	}
	return cli.WhileStopped(ctx, dir, func(f frontier.Stored) error { return packStopped(ctx, f, dir, o, std) })
}

func packStopped(ctx context.Context, f frontier.Reader, dir string, o exportOptions, std cli.Streams) error {
	parts, err := partsOf(dir)
	if err != nil {
		return err
	}
	stats, err := f.Stats(ctx)
	if err != nil {
		return err
	}
	if n := stats.Queued + stats.InFlight + stats.Deferred; n > 0 {
		parts.LeftOut = append(parts.LeftOut, fmt.Sprintf("The crawl is not finished: %s still to go.", plainly.Count(n, "URL")))
	}
	key, rotations, err := packKey()
	if err != nil {
		return err
	}
	parts.Lines = ledger.Read(filepath.Join(dir, crawldir.LedgerName))
	parts.Title, parts.Description = o.title, o.about
	parts.Software, parts.Version, parts.Key = "curtsy", crawldir.Version, key
	parts.Rotations = rotations
	var r wacz.Result
	err = progress.While(ctx, std.Err, o.quiet, progress.NewWork("pack", "").Reads(2, parts.Segments...), func(ctx context.Context) (err error) {
		r, err = wacz.Create(ctx, o.out, parts)
		return err
	})
	if errors.Is(err, wacz.ErrExists) {
		return cli.Usagef("%s exists: name a new file with --output, or remove it first", o.out)
	}
	if err != nil {
		return err
	}
	for _, s := range parts.LeftOut {
		fmt.Fprintf(std.Err, "note: %s\n", plainly.Lines(s))
	}
	if r.NoArchive > 0 {
		fmt.Fprintf(std.Err, "left out, because their pages have noarchive: %s\n", plainly.Count(r.NoArchive, "record"))
	}
	if r.Elsewhere > 0 {
		fmt.Fprintf(std.Err, "note: %s of an earlier archive, which is not in the file: players need it as well\n", plainly.Count(r.Elsewhere, "repeat"))
	}
	if key == nil {
		fmt.Fprintf(std.Err, "not signed: no ledger key in the configuration folder\n")
	}
	fmt.Fprintf(std.Err, "packed %s, %s, %s of archive: %s\nits manifest has the hash %s\n",
		plainly.Count(r.Pages, "page"), plainly.Count(r.Records, "answer"), plainly.RoughSize(r.Octets), plainly.Lines(o.out), r.Hash)
	return nil
}

// partsOf lists the files of a crawl directory to pack, and those left out.
func partsOf(dir string) (o wacz.Options, err error) {
	archive, err := os.ReadDir(filepath.Join(dir, crawldir.ArchiveName))
	if err != nil {
		return o, fmt.Errorf("export: %w", err)
	}
	for _, e := range archive {
		path := filepath.Join(dir, crawldir.ArchiveName, e.Name())
		switch name := e.Name(); {
		case strings.HasSuffix(name, ".warc.gz"):
			o.Segments = append(o.Segments, path)
		case strings.HasSuffix(name, ".cut"):
			o.LeftOut = append(o.LeftOut, fmt.Sprintf("The damaged tail %s is not packed.", name))
		}
	}
	if len(o.Segments) == 0 {
		return o, fmt.Errorf("there is nothing to pack in %s: no segment is complete; begin or complete one with curtsy resume %s", filepath.Join(dir, crawldir.ArchiveName), plainly.Argument(dir))
	}
	// Numbers have five digits, or more: the shorter name is the earlier segment.
	slices.SortStableFunc(o.Segments, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	if o.Files, err = ledgerParts(filepath.Join(dir, crawldir.LedgerName)); err != nil {
		return o, err
	}
	for _, name := range []string{"report.html", "report.json", "audit.json"} {
		switch _, err := os.Lstat(filepath.Join(dir, name)); {
		case err == nil:
			o.Files = append(o.Files, wacz.File{Name: "report/" + name, Path: filepath.Join(dir, name)})
		case !errors.Is(err, fs.ErrNotExist):
			return o, fmt.Errorf("export: %w", err)
		}
	}
	return o, nil
}

// packKey returns the key of the user's ledgers with its rotation notes, or nil. It creates no key, because the ledger of a
// crawl from another machine has a different one.
func packKey() (key ed25519.PrivateKey, rotations [][]byte, err error) {
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		return nil, nil, err
	}
	seed, err := crawldir.LedgerKey.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	signer, err := checkpoint.NewSigner(seed)
	if err != nil {
		return nil, nil, err
	}
	all, err := crawldir.Rotations(path, signer.Key())
	for _, r := range all {
		rotations = append(rotations, r.Note)
	}
	return ed25519.NewKeyFromSeed(seed), rotations, err
}

// openSegment returns the name of the segment that a kill left open; "" for none.
func openSegment(dir string) (string, error) {
	open, err := crawldir.Entries(filepath.Join(dir, crawldir.ArchiveName), "", ".warc.gz.open")
	if err != nil || len(open) == 0 {
		return "", err
	}
	return filepath.Base(open[len(open)-1]), nil
}

// mendKilled completes the segment that a kill left open, as resume does, and marks it in the ledger: the audit takes a
// package with only one of them for a forgery.
func mendKilled(ctx context.Context, dir string, std cli.Streams) error {
	open, err := openSegment(dir)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if _, asked := control.Connect(ctx, dir); open == "" || asked == nil {
		return nil
	}
	err = holdCrawl(ctx, dir, "", func(f crawldir.Stopped, _ func() error) error {
		if err := f.MayMark(); err != nil {
			return err
		}
		return f.Mend(ctx, func(n crawldir.Note) { sayTo(std, "%s", cli.Note(n, dir)) })
	})
	switch {
	case errors.Is(err, frontier.ErrInUse): // cli.WhileStopped reports it next
		return nil
	case err != nil:
		return fmt.Errorf("%s, which a kill left open, cannot be completed: %w", open, err)
	}
	sayTo(std, "%s, which a kill left open, is completed, and the ledger has a mark of it", open)
	return nil
}

func sayTo(std cli.Streams, format string, args ...any) {
	fmt.Fprintf(std.Err, "%s\n", plainly.Lines(fmt.Sprintf(format, args...)))
}

// ledgerParts returns the files of a ledger to pack: its lines, its checkpoints with their cosignatures, the tiles of the
// proofs, and the map of hosts.
func ledgerParts(dir string) (parts []wacz.File, err error) {
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if name = filepath.ToSlash(name); err == nil && isLedgerPart(name) {
			parts = append(parts, wacz.File{Name: path.Join("ledger", name), Path: file})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return parts, nil
}

// tileFolder is the folder of a ledger's tiles (docs/reference/ledger.md).
const tileFolder = "tile"

// isLedgerPart reports whether a file below the folder of a ledger belongs to it and is whole.
func isLedgerPart(name string) bool {
	folder, _, below := strings.Cut(name, "/")
	switch {
	case below:
		return (folder == tileFolder || folder == ledger.CheckpointFolder) && !strings.HasSuffix(name, ".new")
	case name == ledger.CheckpointName:
		return true
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.zst")
}
