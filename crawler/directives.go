package crawler

import (
	"context"
	"io"
	"strings"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/optout"
)

// Manners says which wishes a crawl met with, and which choices its operator made about them.
type Manners struct {
	OptOut    []optout.Version `json:"opt_out,omitempty"`          // the lists that were in force in this run
	Troubles  []string         `json:"opt_out_troubles,omitempty"` // lists on disk that could not take effect at the end
	OptedOut  int64            `json:"opted_out,omitempty"`        // URLs dropped because of them, over all runs
	NoIndex   int64            `json:"noindex,omitempty"`          // answers, over all runs
	NoArchive int64            `json:"noarchive,omitempty"`        // likewise
	Kept      bool             `json:"keep_noarchive"`             // Config.KeepNoArchive
	FollowRel string           `json:"follow_rel,omitempty"`       // Config.FollowRel
}

func (c *Crawl) manners(stats frontier.Stats) Manners {
	return Manners{
		OptOut: c.cfg.OptOut.Versions(), Troubles: c.cfg.OptOut.Troubles(),
		OptedOut: stats.Reasons[frontier.Dropped][reasonOptOut],
		NoIndex:  stats.Counts[budget.NoIndex], NoArchive: stats.Counts[budget.NoArchive],
		Kept: c.cfg.KeepNoArchive, FollowRel: strings.Join(c.cfg.FollowRel, ","),
	}
}

// directives reads what an answer asks of robots whose links are of no use: an error page is archived, too.
func (c *pageReader) directives(ctx context.Context, ex *fetch.Exchange) (extract.Directives, error) {
	in := extract.Input{
		URL: ex.URL, ContentType: mediatype.Value(ex.Header), Header: ex.Header, Token: c.cfg.Identity.Token,
	}
	if ex.Body != nil && ex.Undecoded == "" {
		in.Body = io.NewSectionReader(ex.Body, 0, ex.Body.Size())
	}
	return c.extract.Directives(ctx, in)
}

// noteDirectives notes what an answer asks for, and how it may be used (politeness rules 19, 20).
func (c *pageReader) noteDirectives(v *visit, ex *fetch.Exchange, asks extract.Directives, d *decision, f *findings) {
	d.asks, d.prefs = asks, usagePrefs(v.rules.Book, ex.Header)
	if asks.NoIndex {
		f.count(budget.NoIndex, 1)
	}
	if asks.NoArchive {
		f.count(budget.NoArchive, 1)
	}
	d.HeadOnly = asks.NoArchive && !c.cfg.KeepNoArchive
}

// nameEntry makes a line name the entry that decided.
func nameEntry(l *storage.Line, hit *optout.Hit) {
	l.RobotsLine, l.RobotsRule, l.List = hit.Line, hit.Text, hit.SHA256()
	if hit.Entry.Reason != "" {
		l.RobotsRule += " # " + hit.Entry.Reason
	}
}

// joinLines puts statements one on a line: what breaks lines in one of them becomes a space.
func joinLines(said []string) string {
	clean := make([]string, len(said))
	for i, s := range said {
		clean[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	}
	return strings.Join(clean, "\n")
}

// CheckFollowRel says what is wrong with a Config.FollowRel, or nil.
func CheckFollowRel(words []string) error {
	_, err := extract.ParseRels(words)
	return err
}
