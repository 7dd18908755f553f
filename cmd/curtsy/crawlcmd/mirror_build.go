package crawlcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// Built is a mirror that was made.
type Built struct {
	Dir   string `json:"dir"`             // of its files
	Start string `json:"start,omitempty"` // the file of the first seed, or else of another page
	Lacks []lack `json:"lacks,omitempty"` // missing files that a command would fetch, the most important first
	mirror.Summary

	of string // the crawl directory, for curtsy mirror serve
}

// build makes the mirror of a crawl that has just ended, unless a signal comes: then the one before stays. It returns nil
// if nothing is archived.
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

// mirrorCrawl makes the mirror of the crawl in dir, which does not run meanwhile. It returns nil if nothing is archived.
func mirrorCrawl(ctx context.Context, s *crawldir.Settings, dir string, o mirror.Options) (b *Built, err error) {
	err = cli.WhileStopped(ctx, dir, func(f frontier.Stored) error {
		if o.Archive, err = mirror.CrawlArchive(dir); err != nil {
			if files, _ := os.ReadDir(filepath.Join(dir, crawldir.ArchiveName)); len(files) == 0 {
				return nil // a crawl that came to nothing has no mirror
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
			o.GoneBefore = g.Began // what this generation found gone stays until it is completed
		}
		var first string
		for seed, err := range f.AllSeeds(ctx) {
			if err != nil {
				return err
			}
			if seed.From == "" {
				first = seed.URL.Key()
				break
			}
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

// buildTree makes a mirror, and finds the page to open first: that of start, or the one nearest to a host's first page. It
// returns nil if nothing is archived.
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
			continue // it is within pages
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

// Lead says what is missing and which commands get it, for the first lines of a summary.
func (b *Built) Lead() string {
	var t strings.Builder
	if n := b.Unreadable; n > 0 {
		fmt.Fprintf(&t, "the archive is damaged: %s cannot be read; restore it from a copy, then curtsy mirror rebuild %s\n",
			plainly.Count(n, "record"), plainly.OneLine(plainly.Argument(b.of)))
	}
	for _, l := range b.Lacks {
		t.WriteString(plainly.OneLine(l.String()) + "\n")
	}
	return t.String()
}

// Incomplete reports whether the archive is damaged, or pages lack what a command gets and the user did not choose to
// leave out. A nil Built lacks nothing.
func (b *Built) Incomplete() bool {
	return b != nil && (b.Unreadable > 0 || slices.ContainsFunc(b.Lacks, func(l lack) bool { return !l.Chosen }))
}

// Text says what is in the mirror, for people.
func (b *Built) Text() string { return text.Render("mirror", mirrorText{b}) }

// mirrorText is what the template of a mirror takes.
type mirrorText struct{ *Built }

// Reasons are those that count something, by their words.
func (mirrorText) Reasons(all map[mirror.Reason]int64) map[string]int64 {
	words := map[string]int64{}
	for reason, n := range all {
		if n > 0 {
			words[string(reason)] = n
		}
	}
	return words
}

// MoreNotes counts the notes that are not shown.
func (m mirrorText) MoreNotes() int { return len(m.Notes) - text.MaxShown }

// FirstPage is the file to open, if there is one.
func (m mirrorText) FirstPage() string {
	if m.Start == "" {
		return ""
	}
	return filepath.Join(m.Dir, filepath.FromSlash(m.Start))
}

// Crawl is the crawl directory, in commands.
func (m mirrorText) Crawl() string { return plainly.Argument(m.of) }

// firstSeed is the URL that a crawl began with, as far as that can be known.
func firstSeed(ctx context.Context, dir string) string {
	var first canon.URL
	err := cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		for seed, err := range f.AllSeeds(ctx) {
			if err != nil {
				return err
			}
			if seed.From == "" {
				first = seed.URL
				return nil
			}
		}
		return errors.New("no seed was given")
	})
	if err != nil {
		return "" // it is a convenience
	}
	return first.Key()
}

// lack is something that pages of a mirror need, or that their scripts name, and that a command can get.
type lack struct {
	Files   int64  `json:"files"`
	Why     string `json:"why"`     // "pages lack 3 files that …"
	Command string `json:"command"` // of the shell
	Chosen  bool   `json:"chosen"`  // an option left it out in so many words, or scripts alone name it: the mirror is complete
}

func (l lack) String() string { return l.Why + "; get them with " + l.Command }

// leftOut counts the requisites that pages lack.
type leftOut struct {
	own, other int64            // that --page-requisites or the scope leaves out: on the hosts of the seeds, and elsewhere
	scripts    int64            // on the hosts of the seeds, that scripts alone name and the scope leaves out
	options    map[string]int64 // by the flag of the rule or budget that leaves them out; "" for those that are queued
}

// chosen are the options that leave out in so many words what pages need.
var chosen = []string{"exclude", "reject", "accept"}

// findLacks counts what a missing contact, an option or a budget left out of the pages of b.
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
	if which != scope.RequisitesAll { // else they are too many steps away: no setting gets them
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

// add counts a line of what is missing.
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
	switch rule := m.Detail[max(at, 0):]; { // of what it redirects to, if it does
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

// lackRequisites adds what --page-requisites, or the scope with it, leaves out of the pages.
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
		l.Command = "curtsy update --contact ADDRESS --page-requisites " // an update does not read the user's own settings
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
