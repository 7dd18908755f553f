package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// tortureMap is where the torture site is served, and what a mirror of it leaves out.
type tortureMap struct {
	Seed   string            `json:"seed"`
	Hosts  map[string]string `json:"hosts"`  // names to URLs
	Absent []absentJSON      `json:"absent"` // what no mirror should hold
}

type absentJSON struct {
	URL   string `json:"url"`
	Why   string `json:"why"`
	Embed bool   `json:"embed,omitempty"` // a page embeds it
}

func newRulesJSON(r crawltest.Report) []ruleJSON {
	var rules []ruleJSON
	for _, row := range r.Rows {
		j := ruleJSON{Rule: string(row.Rule), Verdict: scoreboard.Word(row.Verdict), Evidence: row.Evidence}
		for _, f := range row.Findings {
			j.Findings = append(j.Findings, findingJSON{Host: f.Host, Target: f.Target, Text: f.Text})
		}
		rules = append(rules, j)
	}
	return rules
}

// tortureServe serves the torture site until Ctrl-C, then says how polite the visit was.
func tortureServe(ctx context.Context, token string, asJSON bool, std cli.Streams) error {
	if !canBeToken(token) {
		return cli.Usagef("--token %q: a product token has letters, - and _ (RFC 9309 2.2.1)", token)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := scoreboard.NewTorture()
	if err := o.Start(); err != nil {
		return err
	}
	defer o.Close()
	if err := writeTorture(std.Out, o, asJSON); err != nil {
		return err
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	<-ctx.Done()
	if err := o.Close(); err != nil {
		return err
	}
	verdict := o.Judge(token)
	if asJSON {
		if err := cli.WriteJSON(std.Out, newRulesJSON(verdict)); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(std.Out)
		if err := verdict.WriteTable(std.Out); err != nil {
			return err
		}
	}
	if !verdict.OK() {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

func writeTorture(w io.Writer, o *scoreboard.Web, asJSON bool) error {
	if asJSON {
		m := tortureMap{Seed: o.Seed(), Hosts: map[string]string{}}
		for _, h := range o.Hosts() {
			m.Hosts[h] = o.LoopbackURL(h)
		}
		for _, a := range o.Absent {
			m.Absent = append(m.Absent, absentJSON{o.Local(a.URL), a.Why, a.Embed})
		}
		return cli.WriteJSON(w, m)
	}
	return writeBoard(w, o.Web, o.Seed(), "mirror --dir torture")
}
