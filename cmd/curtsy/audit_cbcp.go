package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/policypage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
)

// practices is what --cbcp adds to an audit: the crawler best practices, clause by clause.
type practices struct {
	on     bool
	page   string // copies of what the operator publishes
	ranges string
	judge  *cbcp.Judge
	judged *cbcp.Result // nil without --cbcp
}

func (p *practices) flag(fs *pflag.FlagSet) {
	fs.BoolVar(&p.on, "cbcp", false, "also check draft-illyes-webbotauth-cbcp (crawler best practices), clause by clause: kept, broken or not provable; a broken MUST also exits with 3")
	fs.StringVar(&p.page, "bot-page", "", "`FILE` with --cbcp: a copy of the crawler's page (HTML)")
	fs.StringVar(&p.ranges, "bot-ranges", "", "`FILE` with --cbcp: a copy of the crawler's address ranges (JAFAR)")
}

// begin lets the judge see the audit.
func (p *practices) begin(o *audit.Options) error {
	if !p.on {
		if p.page != "" || p.ranges != "" {
			return cli.Usagef("--bot-page and --bot-ranges need --cbcp")
		}
		return nil
	}
	said, err := p.published()
	if err != nil {
		return err
	}
	p.judge = cbcp.New(said)
	o.Witnesses = append(o.Witnesses, p.judge)
	return nil
}

// published reads the copies of what the operator publishes.
func (p *practices) published() (said cbcp.Published, err error) {
	if p.page != "" {
		b, err := userfile.ReadAll(p.page, policypage.MaxDocument)
		if err != nil {
			return said, fmt.Errorf("--bot-page: %w", err)
		}
		page, err := policypage.ReadPage(b)
		if err != nil {
			return said, fmt.Errorf("--bot-page: %s: %w", p.page, err)
		}
		said.Page, said.Text, said.Leads = p.page, page.Text, page.Leads
		for _, to := range page.Links["client-ranges"] {
			if said.RangesLink == "" {
				said.RangesLink = to
			}
		}
	}
	if p.ranges != "" {
		b, err := userfile.ReadAll(p.ranges, policypage.MaxDocument)
		if err != nil {
			return said, fmt.Errorf("--bot-ranges: %w", err)
		}
		said.Ranges = p.ranges
		ranges, err := policypage.ReadRanges(b, "")
		if err != nil {
			said.Fault = err.Error()
		}
		said.Prefixes, said.Made = len(ranges.Prefixes), ranges.Created
	}
	return said, nil
}

// conclude judges, when the audit is done. rename gives the files in r the names to show.
func (p *practices) conclude(r *audit.Result, rename func()) {
	names := make(map[string]string, len(r.Files))
	read := make([]string, len(r.Files))
	for i := range r.Files {
		read[i] = r.Files[i].Name
	}
	rename()
	if p.judge == nil {
		return
	}
	for i := range r.Files {
		names[read[i]] = r.Files[i].Name
	}
	p.judged = p.judge.Conclude(r, names)
}

// object is the result for --json: that of the audit, with a field more.
func (p *practices) object(r *audit.Result) any {
	if p.judged == nil {
		return r
	}
	return struct {
		*audit.Result

		Practices *cbcp.Result `json:"cbcp"`
	}{r, p.judged}
}

func (p *practices) text() string {
	if p.judged == nil {
		return ""
	}
	return text.Practices(p.judged)
}

// brokenMust reports whether the crawl broke something that a crawler must do.
func (p *practices) brokenMust() bool { return p.judged != nil && p.judged.Musts > 0 }
