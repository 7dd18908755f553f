package crawlcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

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
