package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/storage/plainly"
)

func newServe(std cli.Streams) *cobra.Command {
	token, keys := "curtsy", ""
	var wing, torture, asJSON bool
	cmd := cli.Command("crawltest serve", cli.Flags{"token": &token, "all-hostile": &wing, "keys": &keys, "torture": &torture, "json": &asJSON})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if torture && keys != "" {
			return cli.Usagef("--torture serves another web: --keys has no effect on it")
		}
		if torture && wing {
			return cli.Usagef("--torture serves another web: --all-hostile has no effect on it")
		}
		if torture {
			return tortureServe(cmd.Context(), token, asJSON, std)
		}
		return crawltestServe(cmd.Context(), token, keys, wing, asJSON, std)
	}
	return cmd
}

func crawltestServe(ctx context.Context, token, keys string, wing, asJSON bool, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	board, err := startBoard(token, keys, wing)
	if err != nil {
		return err
	}
	defer board.Close()
	if asJSON {
		err = cli.WriteJSON(std.Out, newBoardMap(board))
	} else {
		command := tryCrawl
		if token != "curtsy" { // the rules of the board bind another crawler
			command = ""
		}
		err = writeBoard(std.Out, board.Web, board.Seed(), command)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C, which prints the score; a polite crawl takes 2 to 3 minutes")
	<-ctx.Done()
	if err := board.Close(); err != nil {
		return err
	}
	score := board.Judge(scoreboard.Ending{})
	if asJSON {
		err = cli.WriteJSON(std.Out, newScoreJSON(score, board.Seed()))
	} else {
		fmt.Fprintln(std.Out)
		err = score.WriteTable(std.Out)
	}
	if err == nil && !score.OK() {
		err = cli.Silent(cli.ExitFound)
	}
	return err
}

// directoryIn reads the key directory of a crawler; nil if none is named.
func directoryIn(path string) (*crawltest.Directory, error) {
	if path == "" {
		return nil, nil
	}
	b, err := userfile.ReadAll(path, crawltest.MaxDirectory)
	if err != nil {
		return nil, cli.Usagef("--keys: %w", err)
	}
	d, err := crawltest.ParseDirectory(b)
	if err != nil {
		return nil, cli.Usagef("--keys %s: %w", path, err)
	}
	return d, nil
}

// startBoard serves the scoreboard for a crawler of that product token, whose key directory is in a file.
func startBoard(token, keys string, wing bool) (*scoreboard.Board, error) {
	if !canBeToken(token) {
		return nil, cli.Usagef("--token %q: a product token has letters, - and _ (RFC 9309 2.2.1); a number may follow", token)
	}
	directory, err := directoryIn(keys)
	if err != nil {
		return nil, err
	}
	board := scoreboard.New(token, wing)
	board.Keys = directory
	if err := board.Start(); err != nil {
		return nil, err
	}
	return board, nil
}

// canBeToken reports whether a name can stand in a User-agent line and mean one crawler.
func canBeToken(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
	return name != "" && strings.Contains(letters, name[:1]) && strings.Trim(name, letters+"0123456789.") == ""
}

// tryCrawl is the command with which curtsy crawls the board. It takes the contact from the user's own settings, and says how to
// set it if it is not.
const tryCrawl = "crawl --dir crawltest --scope any --max-time 10m --max-wait 25s --own-site none"

// writeBoard prints where a crawl begins, how curtsy crawls it if there is a command, and which port is which host.
func writeBoard(w io.Writer, web *crawltest.Web, seed, command string) error {
	fmt.Fprintf(w, "seed  %s\n", seed)
	if command != "" {
		fmt.Fprintf(w, "try   curtsy %s --allow-net 127.0.0.0/8 %s\n", command, plainly.Argument(seed))
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "HOST\tSERVED AT")
	for _, h := range web.Hosts() {
		fmt.Fprintf(tw, "%s\t%s\n", h, web.LoopbackURL(h))
	}
	return tw.Flush()
}

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
