package cbcp

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/audit"
)

// good is what an operator publishes who keeps each clause that copies can show.
func good() Published {
	return Published{
		Page: "bot.html", Text: "We obey robots.txt. To stop us: User-agent: lantern Disallow: /", Leads: []string{"mailto:post@lantern.test"},
		RangesLink: "ranges.json", Ranges: "ranges.json", Prefixes: 2, Made: day0.Add(-24 * time.Hour),
	}
}

func TestCopiesOfWhatIsPublishedDecideTheirClauses(t *testing.T) {
	for _, row := range []struct {
		name         string
		change       func(p *Published)
		kept, broken string // of the clauses of sections 2.5 and 2.6
	}{
		{"all is there", func(*Published) {}, "ranges ranges-current ranges-linked ranges-found contact example", ""},
		{"nothing was given", func(p *Published) { *p = Published{} }, "", ""},
		{"a page alone", func(p *Published) { p.Ranges = "" }, "ranges-linked ranges-found contact example", ""},
		{"ranges alone", func(p *Published) { p.Page = "" }, "ranges ranges-current", ""},
		{"ranges that cannot be read", func(p *Published) { p.Fault = "not JSON" }, "ranges-linked ranges-found contact example", "ranges"},
		{"no range", func(p *Published) { p.Prefixes = 0 }, "ranges-current ranges-linked ranges-found contact example", "ranges"},
		{"old ranges", func(p *Published) { p.Made = day0.Add(-8 * 24 * time.Hour) }, "ranges ranges-linked ranges-found contact example", "ranges-current"},
		{"ranges without a date", func(p *Published) { p.Made = time.Time{} }, "ranges ranges-linked ranges-found contact example", ""},
		{"no link", func(p *Published) { p.RangesLink = "" }, "ranges ranges-current contact example", ""},
		{"no word of robots.txt", func(p *Published) { p.Text = "User-agent: x Disallow: /" }, "ranges ranges-current ranges-linked ranges-found contact example", "page"},
		{"a mailbox in the text", func(p *Published) { p.Leads, p.Text = nil, p.Text+" (post@lantern.test)." }, "ranges ranges-current ranges-linked ranges-found contact example", ""},
		{"no mailbox", func(p *Published) { p.Leads, p.Text = nil, p.Text+" a @ b x@y @z.test" }, "ranges ranges-current ranges-linked ranges-found example", ""},
		{"no example", func(p *Published) { p.Text = "We obey robots.txt. Disallow: before user-agent: is none" }, "ranges ranges-current ranges-linked ranges-found contact", "example"},
	} {
		p := good()
		row.change(&p)
		f, kept, broken := &New(p).facts, []string{}, []string{}
		for _, c := range Clauses() {
			if c.Section != "2" && !strings.HasSuffix(c.Section, "2.5") && c.Section != "2.6" {
				continue
			}
			got := c.check(f, &audit.Result{From: day0})
			switch got.state {
			case Kept:
				kept = append(kept, c.ID)
			case Broken:
				broken = append(broken, c.ID)
				if len(got.examples) != 1 || got.examples[0].File == "" {
					t.Errorf("%s: %s names no file: %+v", row.name, c.ID, got)
				}
			}
			assert.NotEmptyf(t, got.evidence, "%s: %s says nothing", row.name, c.ID)
		}
		if k, b := strings.Join(kept, " "), strings.Join(broken, " "); k != row.kept || b != row.broken {
			t.Errorf("%s: kept %q, broken %q", row.name, k, b)
		}
	}
}
