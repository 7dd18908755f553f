package crawlcmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
)

// mirrorDefaults are the defaults of a mirror that differ from those of a crawl.
var mirrorDefaults = map[string]string{"scope": "prefix", "page-requisites": "all,script", "max-body": "1GiB"}

func NewMirror(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := options{planning: planningDefaults()}
	cmd := cli.Command("mirror")
	cmd.Long += "\n\n" + config.Scopes
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	o.placeFlags(fs)
	config.Flags(&s, fs)
	o.flags(fs)
	cli.Often(fs, "page-requisites", "vanished", "layout", "cut-dirs")
	for name, value := range mirrorDefaults {
		setDefault(fs.Lookup(name), value)
	}
	is := fs.Lookup("mirror")
	setDefault(is, "true")
	is.Usage = "write the copy at the end of each run; with false, only curtsy mirror rebuild\nwrites it"
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		if is.Changed && s.Mirror {
			return cli.Usagef("--mirror is the default here; --mirror=false leaves the copy to curtsy mirror rebuild")
		}
		is.Changed = true // it wins over settings files
		return crawl(cmd.Context(), fs, &s, &o, World{}, args, std)
	})
	cmd.AddCommand(newServe(std), newMirrorCheck(std), newRebuild(std))
	return cmd
}

// ownRequisites limits the requisites of a mirror to the hosts of its seeds if these are loopback and no contact is set: any
// other host must see a contact. The summary lists the files that pages lack because of it.
func ownRequisites(s *crawldir.Settings, flags *pflag.FlagSet, seeds []frontier.Candidate) {
	if f := flags.Lookup("page-requisites"); s.Requisites == "script" && f.DefValue == mirrorDefaults["page-requisites"] {
		s.Requisites = f.DefValue
	}
	foreign := slices.ContainsFunc(seeds, func(c frontier.Candidate) bool { return !c.URL.Authority().Loopback() })
	id := s.Identity()
	which, scripts := scope.SplitRequisites(s.Requisites)
	if !s.Mirror || which != scope.RequisitesAll || foreign || id.CheckContact() == nil {
		return
	}
	s.Requisites = scope.RequisitesHost
	if scripts {
		s.Requisites += ",script"
	}
}

// setDefault gives a flag another default. It panics if the value is invalid.
func setDefault(f *pflag.Flag, value string) {
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
	f.DefValue = value
}

// Again rebuilds the mirror of a crawl directory, or removes it if nothing is archived.
func Again(ctx context.Context, dir string) error {
	b, err := rebuildMirror(ctx, []string{dir}, &rebuildOptions{maxBody: 1 << 30, given: func(string) bool { return false }}, new(mirror.Progress))
	if err != nil || b != nil {
		return err
	}
	return os.RemoveAll(mirror.Tree(dir))
}

func newServe(std cli.Streams) *cobra.Command {
	listen, offline := "127.0.0.1:0", false
	cmd := cli.Command("mirror serve", cli.Flags{"listen": &listen, "offline": &offline})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return serveMirror(cmd.Context(), args[0], listen, offline, std)
	}
	return cmd
}

func serveMirror(ctx context.Context, dir, listen string, offline bool, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	var start string
	if tree != dir {
		_ = cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) (err error) { // only a convenience
			start, err = firstSeed(ctx, f)
			return err
		})
	}
	l, err := cli.Listen(ctx, listen)
	if err != nil {
		return err
	}
	elsewhere := cli.Elsewhere(l.Addr())
	h, err := mirror.NewHandler(mirror.ServeOptions{Tree: tree, Start: start, Offline: offline, AnyName: elsewhere})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if elsewhere {
		fmt.Fprintf(std.Err, "other machines may reach %s, and see everything in the mirror\n", l.Addr())
	}
	if _, err := fmt.Fprintf(std.Out, "http://%s/\n", cli.FromHere(l.Addr())); err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	return errors.Join(untilDone(ctx, l, h), h.Close())
}

// untilDone serves until ctx ends, then finishes the responses under way.
func untilDone(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func newMirrorCheck(std cli.Streams) *cobra.Command {
	var asJSON, wrong bool
	cmd := cli.Command("mirror check", cli.Flags{"json": &asJSON, "wrong": &wrong})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		return mirrorCheck(ctx, args[0], asJSON, wrong, std)
	})
	return cmd
}

func mirrorCheck(ctx context.Context, dir string, asJSON, wrongOnly bool, std cli.Streams) error {
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.Out)
	all, wrong := int64(0), int64(0)
	absolute := map[string]bool{} // URLs
	for b, err := range mirror.Check(ctx, tree) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		all++
		if b.Wrong {
			wrong++
		} else {
			if b.URL != "" && b.Reason != mirror.ByScript {
				absolute[b.URL] = true
			}
			if wrongOnly {
				continue
			}
		}
		if err := writeBroken(out, b, asJSON); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if outside := all - wrong; outside > 0 && !wrongOnly {
		fmt.Fprintf(std.Err, "%s outside the mirror (%s)\n", plainly.Count(outside, "reference"), plainly.Count(len(absolute), "URL"))
	}
	if wrong > 0 {
		fmt.Fprintf(std.Err, "%s wrong\n", plainly.Count(wrong, "reference"))
		return cli.Silent(cli.ExitFound)
	}
	fmt.Fprintln(std.Err, "nothing wrong")
	return nil
}

// writeBroken writes a reference: FILE, the reference, and the reason, separated by tabs.
func writeBroken(out *bufio.Writer, b mirror.Broken, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(b)
	}
	why := b.Reason.Why(b.Detail)
	if b.Wrong {
		why = "WRONG " + why
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\n", plainly.OneLine(b.File), plainly.OneLine(cmp.Or(b.URL, b.Ref)), plainly.OneLine(why))
	return err
}

// mirrorIn returns the mirror of a crawl directory, or dir if it is one.
func mirrorIn(dir string) (string, error) {
	for _, tree := range []string{dir, mirror.Tree(dir)} {
		_, err := os.Stat(filepath.Join(tree, mirror.MapFile))
		if err == nil {
			return tree, nil
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return "", crawldir.NotDirectory(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", cli.Usagef("mirror: %w", err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return "", cli.Usagef("mirror: %w", err)
	}
	return "", cli.Usagef("no mirror in %s; if a page is archived there, make one with curtsy mirror rebuild %s", dir, plainly.Argument(dir))
}

// Built describes a finished mirror.
type Built struct {
	Dir   string `json:"dir"`             // of its files
	Start string `json:"start,omitempty"` // the file of the first seed, or of another page
	Lacks []lack `json:"lacks,omitempty"` // missing files that a command would fetch, the most important first
	mirror.Summary

	of string // the crawl directory, for curtsy mirror serve
}

// build makes the mirror of a crawl that has just ended. After a signal the previous mirror stays. It returns nil if nothing
// is archived.
func build(ctx context.Context, s *crawldir.Settings, dir string, display *progress.Display) (b *Built, err error) {
	display.Say("building the mirror in %s (Ctrl-C keeps the previous one)", mirror.Tree(dir))
	var progress mirror.Progress
	err = cli.UntilSignal(ctx, func(ctx context.Context) error {
		return display.WhileMirrored(ctx, &progress, func() (err error) {
			b, err = mirrorCrawl(ctx, s, dir, mirror.Options{Dir: dir, MaxBody: s.MaxBody, Progress: &progress})
			return err
		})
	})
	switch {
	case err != nil:
		display.Say("the mirror was not finished, and the previous one is unchanged; make it with curtsy mirror rebuild %s", plainly.Argument(dir))
	case b == nil:
		display.Say("no mirror: no page is archived in %s", dir)
	}
	return b, err
}

// mirrorCrawl makes the mirror of the stopped crawl in dir. It returns nil if nothing is archived.
func mirrorCrawl(ctx context.Context, s *crawldir.Settings, dir string, o mirror.Options) (b *Built, err error) {
	err = cli.WhileStopped(ctx, dir, func(f frontier.Stored) error {
		if o.Archive, err = mirror.CrawlArchive(dir); err != nil {
			if files, _ := os.ReadDir(filepath.Join(dir, crawldir.ArchiveName)); len(files) == 0 {
				return nil
			}
			return err
		}
		stats, err := f.Stats(ctx)
		if err != nil {
			return err
		}
		o.Previews, o.Vanished, o.Layout = s.Previews, s.Vanished, s.MirrorLayout()
		o.MaxBody = max(o.MaxBody, 1<<30)
		if g := budget.GenerationOf(stats.Counts); stats.Queued+stats.InFlight+stats.Deferred > 0 {
			o.GoneBefore = g.Began // pages that this generation found gone stay until it is complete
		}
		first, err := firstSeed(ctx, f)
		if err != nil {
			return err
		}
		if o.Unfetched, err = crawldir.Unfetched(ctx, s, f); err != nil {
			return err
		}
		b, err = buildTree(ctx, o, first)
		if b == nil || err != nil {
			return err
		}
		b.of = dir
		return b.findLacks(ctx, s, f)
	})
	return b, err
}

// buildTree makes a mirror and selects its first page: that of start, or the one with the shortest URL. It returns nil if
// nothing is archived.
func buildTree(ctx context.Context, o mirror.Options, start string) (*Built, error) {
	summary, err := mirror.Build(ctx, o)
	switch {
	case errors.Is(err, mirror.ErrNothing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	b := &Built{Dir: mirror.Tree(o.Dir), Summary: summary, of: o.Dir}
	best := ""
	for e, err := range mirror.Map(b.Dir) {
		if err != nil {
			return nil, err
		}
		if e.File == "" {
			continue // it is inlined in pages
		}
		if e.URL == start {
			b.Start = e.File
			break
		}
		if strings.HasPrefix(e.Type, "text/html") && (best == "" || len(e.URL) < len(best)) {
			best, b.Start = e.URL, e.File
		}
	}
	return b, nil
}

// Lead lists missing files and the commands that get them, for the first lines of a summary.
func (b *Built) Lead() string {
	var t strings.Builder
	if n := b.Unreadable; n > 0 {
		fmt.Fprintf(&t, "the archive is damaged: %s cannot be read; restore it from a copy, then curtsy mirror rebuild %s\n",
			plainly.Count(n, "record"), plainly.OneLine(plainly.Argument(b.of)))
	}
	for _, l := range b.Lacks {
		t.WriteString(plainly.OneLine(l.Why+"; get them with "+l.Command) + "\n")
	}
	return t.String()
}

// Incomplete reports whether the archive is damaged, or pages lack files that a command gets and the user did not exclude. A
// nil Built is complete.
func (b *Built) Incomplete() bool {
	return b != nil && (b.Unreadable > 0 || slices.ContainsFunc(b.Lacks, func(l lack) bool { return !l.Chosen }))
}

func (b *Built) Text() string { return text.Render("mirror", mirrorText{b}) }

type mirrorText struct{ *Built }

// Reasons are the reasons with a count above zero.
func (mirrorText) Reasons(all map[mirror.Reason]int64) map[string]int64 {
	words := map[string]int64{}
	for reason, n := range all {
		if n > 0 {
			words[string(reason)] = n
		}
	}
	return words
}

// MoreNotes is the number of notes not shown.
func (m mirrorText) MoreNotes() int { return len(m.Notes) - text.MaxShown }

// FirstPage is the file to open; "" for none.
func (m mirrorText) FirstPage() string {
	if m.Start == "" {
		return ""
	}
	return filepath.Join(m.Dir, filepath.FromSlash(m.Start))
}

func (m mirrorText) Crawl() string { return plainly.Argument(m.of) }

// firstSeed returns the key of the first seed that the user gave; "" for none.
func firstSeed(ctx context.Context, f frontier.Stored) (string, error) {
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return "", err
		}
		if seed.From == "" {
			return seed.URL.Key(), nil
		}
	}
	return "", nil
}

// lack counts missing files that pages need, or scripts name, and that a command can get.
type lack struct {
	Files   int64  `json:"files"`
	Why     string `json:"why"`     // "pages lack 3 files that …"
	Command string `json:"command"` // of the shell
	Chosen  bool   `json:"chosen"`  // an option excludes them, or only scripts name them: the mirror is complete
}

// leftOut counts the requisites that pages lack.
type leftOut struct {
	own, other int64            // that --page-requisites or the scope excludes: on the hosts of the seeds, and elsewhere
	scripts    int64            // on the hosts of the seeds, that only scripts name and the scope excludes
	options    map[string]int64 // by the flag of the rule or budget that excludes them; "" for queued ones
}

// chosen are the options with which the user excludes requisites.
var chosen = []string{"exclude", "reject", "accept"}

// findLacks sets the files that a missing contact, an option or a budget keeps from the pages of b.
func (b *Built) findLacks(ctx context.Context, s *crawldir.Settings, f frontier.Stored) error {
	hosts := map[string]bool{}
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return err
		}
		hosts[strings.Clone(scope.HostOf(seed.URL))] = true
	}
	left := leftOut{options: map[string]int64{}}
	for m, err := range mirror.MissingLines(b.Dir) {
		if err != nil {
			return err
		}
		left.add(&m, s, hosts)
	}
	which, scripts := scope.SplitRequisites(s.Requisites)
	if which != scope.RequisitesAll { // else they are too many hops away: no setting gets them
		b.lackRequisites(&left, s, which, scripts)
	}
	dir := plainly.Argument(b.of)
	for option, n := range left.options {
		l := lack{Files: n, Chosen: slices.Contains(chosen, option)}
		l.Why, l.Command = fmt.Sprintf("pages lack %s over --%s", plainly.Count(n, "file"), option), "curtsy update --"+option+" 0 "+dir
		switch {
		case option == "":
			l.Why, l.Command = fmt.Sprintf("pages lack %s that were not requested before the run ended", plainly.Count(n, "file")), "curtsy resume "+dir
		case l.Chosen:
			l.Why, l.Command = fmt.Sprintf("pages lack %s that --%s leaves out", plainly.Count(n, "file"), option), "curtsy update --"+option+" '' "+dir
		case option == "max-body":
			l.Command = "curtsy update --max-body 1GiB " + dir
		case !slices.ContainsFunc(budget.Caps[:], func(c [2]string) bool { return c[1] == option }): // they wait in the queue
			l.Command = "curtsy resume --" + option + " 0 " + dir
		}
		b.Lacks = append(b.Lacks, l)
	}
	if n := left.scripts; n > 0 {
		b.Lacks = append(b.Lacks, lack{n, fmt.Sprintf("scripts name %s of the seeds' hosts that --scope %s leaves out", plainly.Count(n, "file"), s.Scope), "curtsy update --scope host " + dir, true})
	}
	if n := b.Scripted[mirror.NotFetched]; n > 0 && !scripts && which != scope.RequisitesNone {
		b.Lacks = append(b.Lacks, lack{n, "scripts name files that were not requested", "curtsy update --page-requisites " + which + ",script " + dir, true})
	}
	slices.SortStableFunc(b.Lacks, func(x, y lack) int {
		if x.Chosen != y.Chosen {
			if y.Chosen {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.Files, x.Files), cmp.Compare(x.Command, y.Command))
	})
	return nil
}

func (o *leftOut) add(m *mirror.Missing, s *crawldir.Settings, hosts map[string]bool) {
	u, err := canon.Parse(m.URL)
	if err != nil {
		return
	}
	own := hosts[scope.HostOf(u)] && m.Reason != mirror.Redirect
	if m.Embeds == 0 {
		if own && m.Reason == mirror.ByScript && strings.HasSuffix(m.Detail, scope.RuleScript) {
			o.scripts++
		}
		return
	}
	at := strings.LastIndex(m.Detail, storage.RuleOfScope)
	switch rule := m.Detail[max(at, 0):]; { // of the redirect's target, if it is one
	case m.Reason == mirror.Budget:
		o.options[m.Detail]++
	case m.Reason == mirror.TooLarge && m.Detail != "":
		o.options["max-body"]++
	case m.Reason == mirror.NotFetched && m.Detail == crawldir.StillQueued:
		o.options[""]++
	case at < 0:
	case slices.Contains(chosen, strings.TrimPrefix(rule, storage.RuleOfScope)):
		o.options[strings.TrimPrefix(rule, storage.RuleOfScope)]++
	case rule != scope.RuleRequisites && rule != storage.RuleOfScope+s.Scope && rule != storage.RuleOfScope+"include":
	case own:
		o.own++
	default:
		o.other++
	}
}

// lackRequisites adds the requisites that --page-requisites or the scope excludes.
func (b *Built) lackRequisites(left *leftOut, s *crawldir.Settings, which string, scripts bool) {
	get := scope.RequisitesAll
	id := s.Identity()
	unknown := id.CheckContact() != nil
	l := lack{Files: left.own + left.other, Command: "curtsy update --page-requisites ", Chosen: which != scope.RequisitesHost}
	switch {
	case l.Files == 0:
		return
	case unknown && left.other == 0:
		get = scope.RequisitesHost
	case unknown:
		l.Command = "curtsy update --contact ADDRESS --page-requisites " // an update does not read the user's settings
	}
	if scripts {
		get += ",script"
	}
	l.Command += get + " " + plainly.Argument(b.of)
	if which == scope.RequisitesHost && unknown {
		l.Why = fmt.Sprintf("pages lack %s of other hosts, which get no request without a contact", plainly.Count(l.Files, "file"))
	} else {
		l.Why = fmt.Sprintf("pages lack %s that --page-requisites %s leaves out", plainly.Count(l.Files, "file"), s.Requisites)
	}
	b.Lacks = append(b.Lacks, l)
}

type rebuildOptions struct {
	to                     string
	layout                 layout.Kind
	cut                    int64
	vanished               mirror.Vanished
	previews               bool
	maxBody                crawldir.Size
	overwrite, json, quiet bool
	given                  func(flag string) bool
}

func newRebuild(std cli.Streams) *cobra.Command {
	o := rebuildOptions{maxBody: 1 << 30}
	cmd := cli.Command("mirror rebuild", cli.Flags{
		"output": &o.to, "layout": crawldir.Layout(&o.layout), "cut-dirs": crawldir.AtLeast(&o.cut, 0),
		"vanished": crawldir.Vanished(&o.vanished), "previews": &o.previews, "max-body": &o.maxBody, "overwrite": &o.overwrite,
		"json": &o.json, "quiet": &o.quiet,
	})
	cmd.Args = cobra.MinimumNArgs(1)
	cli.Words(cmd.Flags(), "layout", layout.Words()...)
	cli.Words(cmd.Flags(), "vanished", "keep", "remove")
	o.given = cmd.Flags().Changed
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer cli.Bound()()
		var b *Built
		err := cli.UntilSignal(cmd.Context(), func(ctx context.Context) (err error) {
			var far mirror.Progress
			return progress.New(std.Err, o.quiet, false).WhileMirrored(ctx, &far, func() (err error) {
				b, err = rebuildMirror(ctx, args, &o, &far)
				return err
			})
		})
		switch {
		case err != nil:
			return err
		case b == nil:
			hint := "" // WARC files have no report
			if _, err := os.Stat(filepath.Join(args[0], crawldir.ConfigName)); err == nil {
				hint = "; curtsy report " + plainly.Argument(args[0]) + " says why"
			}
			return fmt.Errorf("no page is archived in %s, so no mirror can be made%s", args[0], hint)
		case !o.quiet:
			fmt.Fprint(std.Err, b.Lead(), b.Text())
		}
		if o.json {
			if err := cli.WriteJSON(std.Out, b); err != nil {
				return err
			}
		}
		if b.Unreadable > 0 {
			return cli.Silent(cli.ExitIncomplete)
		}
		return nil
	}
	return cmd
}

// rebuildMirror makes the mirror of a crawl directory or of WARC files.
func rebuildMirror(ctx context.Context, args []string, o *rebuildOptions, progress *mirror.Progress) (*Built, error) {
	fi, err := os.Stat(args[0])
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	if o.to != "" {
		if err := (userfile.Kind{Own: []string{mirror.Tree("")}}).Outside(mirror.Tree(o.to), crawldir.Place()); err != nil {
			return nil, cli.Usagef("--output: %w", err)
		}
		if err := os.MkdirAll(o.to, 0o777); err != nil {
			return nil, err
		}
	}
	out := mirror.Options{Dir: o.to, Fresh: o.overwrite, MaxBody: int64(o.maxBody), Progress: progress}
	if !fi.IsDir() {
		if o.to == "" {
			return nil, cli.Usagef("name the folder for a mirror of WARC files: curtsy mirror rebuild -o DIR %s", plainly.Argument(args[0]))
		}
		for _, path := range args {
			if err := userfile.Readable(path); err != nil {
				return nil, cli.Usagef("mirror: %w", err)
			}
		}
		out.Layout = layout.Layout{Kind: o.layout, Cut: int(min(o.cut, layout.MaxCut+1))}
		if err := out.Layout.Check(); err != nil {
			return nil, cli.Usagef("%w", err)
		}
		out.Archive.Segments, out.Previews, out.Vanished = args, o.previews, o.vanished
		return buildTree(ctx, out, "")
	}
	dir := args[0]
	if len(args) > 1 {
		return nil, cli.Usagef("mirror rebuild takes one crawl directory, or WARC files: not %s and more", plainly.Argument(dir))
	}
	if err := crawldir.Require(dir); err != nil {
		return nil, err
	}
	s, err := config.Of(dir)
	if err != nil {
		return nil, err
	}
	if o.given("layout") && o.layout != s.Layout {
		s.Layout, s.Cut = o.layout, 0 // a new layout drops the cut of the crawl's
	}
	if o.given("cut-dirs") {
		s.Cut = o.cut
	}
	if err := s.MirrorLayout().Check(); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	if o.given("vanished") {
		s.Vanished = o.vanished
	}
	if o.given("previews") {
		s.Previews = o.previews
	}
	if o.to == "" {
		out.Dir = dir
	}
	out.MaxBody = max(out.MaxBody, s.MaxBody)
	b, err := mirrorCrawl(ctx, s, dir, out)
	if b != nil {
		b.of = out.Dir
	}
	if b != nil && err == nil && o.to == "" && (o.given("layout") || o.given("cut-dirs")) {
		err = crawldir.RememberLayout(dir, s.MirrorLayout())
	}
	return b, err
}
