package mirrorcmd

import (
	"context"
	"fmt"
	"strings"

	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// Lack is something that pages of a mirror need and that a command can get.
type Lack struct {
	Files   int64  `json:"files"`
	Why     string `json:"why"`     // "pages lack 3 files that …"
	Command string `json:"command"` // of the shell
	Chosen  bool   `json:"chosen"`  // --page-requisites none or scope left it out
}

func (l Lack) String() string { return l.Why + "; get them with " + l.Command }

// findLacks counts what a missing contact or --page-requisites left out of the pages of b.
func (b *Built) findLacks(ctx context.Context, s *crawldir.Settings, f frontier.Stored) error {
	hosts := map[string]bool{}
	for seed, err := range f.AllSeeds(ctx) {
		if err != nil {
			return err
		}
		hosts[strings.Clone(scope.HostOf(seed.URL))] = true
	}
	which, scripts := scope.SplitRequisites(s.Requisites)
	if !scripts && which != scope.RequisitesNone {
		b.scripts = "curtsy update --page-requisites " + which + ",script " + plainly.Argument(b.of)
	}
	var own, other int64
	for m, err := range mirror.MissingLines(b.Dir) {
		if err != nil {
			return err
		}
		// Requisites that the scope refuses, or that redirect to such. With none, the ledger only counts them.
		left := strings.HasSuffix(m.Detail, scope.RuleRequisites) || strings.HasSuffix(m.Detail, storage.RuleOfScope+s.Scope) ||
			m.Reason == mirror.NotFetched && which == scope.RequisitesNone
		u, err := canon.Parse(m.URL)
		switch {
		case m.Embeds == 0 || !left || err != nil:
		case hosts[scope.HostOf(u)] && m.Reason != mirror.Redirect:
			own++
		default:
			other++
		}
	}
	if which == scope.RequisitesAll {
		return nil // they are too many steps away: no setting gets them
	}
	get := scope.RequisitesAll
	id := s.Identity()
	unknown := id.CheckContact() != nil
	l := Lack{Files: own + other, Command: "curtsy update --page-requisites ", Chosen: which != scope.RequisitesHost}
	switch {
	case l.Files == 0:
		return nil
	case unknown && other == 0:
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
	return nil
}
