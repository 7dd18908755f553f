package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/crawltest/scoreboard"
)

// scoring are the flags of crawltest score.
type scoring struct {
	json, quiet, verbose bool

	token   string
	keys    string
	wing    bool
	rules   []string
	timeout crawldir.Duration
	log     string
}

func newScore(std cli.Streams) *cobra.Command {
	s := scoring{timeout: crawldir.Duration(5 * time.Minute)}
	cmd := cli.Command("crawltest score")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("which crawler? write %s", cmd.UseLine())
		}
		if !strings.Contains(strings.Join(args, " "), "{seed}") {
			return errors.New("the command does not mention {seed}, where the crawl is to begin")
		}
		return nil
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false) // what follows the command's name is the command's own
	fs.StringVar(&s.token, "token", "", "`TOKEN` product token of the crawler, the name it matches in robots.txt (default: the command's name)")
	wingFlag(fs, &s.wing)
	keysFlag(fs, &s.keys)
	fs.Var(&s.timeout, "timeout", "`TIME` end the command after this time")
	cli.Group(fs, "Crawler")
	fs.StringSliceVar(&s.rules, "rules", nil, "`LIST` show only rules whose names contain one of these")
	fs.BoolVar(&s.json, "json", false, "print the score as JSON on standard output")
	fs.StringVar(&s.log, "log", "", "`FILE` write the command's output to this file")
	fs.BoolVarP(&s.quiet, "quiet", "q", false, "print the score only")
	fs.BoolVarP(&s.verbose, "verbose", "v", false, "show the output of the command")
	cli.Group(fs, "Output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) }
	return cmd
}

// check refuses what cannot work, and fills in the token.
func (s *scoring) check(command []string) error {
	if s.quiet && s.verbose {
		return cli.Usagef("--quiet and --verbose contradict each other")
	}
	if err := cli.MayWrite("--log", s.log, userfile.Kind{}); err != nil {
		return err
	}
	if s.timeout <= 0 {
		return cli.Usagef("--timeout %v ends the command before it begins", &s.timeout)
	}
	if s.token == "" {
		name := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
		if s.token = name; !canBeToken(name) {
			return cli.Usagef("--token: %q is not a product token; give the name that the crawler looks for in robots.txt", name)
		}
	}
	all := scoreboard.New(s.token, s.wing).Rules()
	for _, part := range s.rules {
		if !slices.ContainsFunc(all, func(r crawltest.Rule) bool { return names(part, r) }) {
			return cli.Usagef("--rules: no rule is called %q; there are: %s", part, joinRules(all))
		}
	}
	return nil
}

// names reports whether part is in a rule's name.
func names(part string, r crawltest.Rule) bool {
	return strings.Contains(strings.ToLower(string(r)), strings.ToLower(strings.TrimSpace(part)))
}

func joinRules(all []crawltest.Rule) string {
	var list []string
	for _, r := range all {
		list = append(list, string(r))
	}
	return strings.Join(list, "; ")
}

// run serves, runs the command and prints the score.
func (s *scoring) run(ctx context.Context, command []string, std cli.Streams) error {
	if err := s.check(command); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	board, err := startBoard(s.token, s.keys, s.wing)
	if err != nil {
		return err
	}
	defer board.Close()
	r, err := s.crawl(ctx, board, command, std)
	if err != nil {
		return err
	}
	if err := board.Close(); err != nil {
		return err
	}
	if r.idle && !r.interrupted {
		return errors.New("the command made no request, so there is nothing to score; is it allowed to contact 127.0.0.1?")
	}
	score := board.Judge(r.ending())
	if len(s.rules) > 0 {
		score.Rows = slices.DeleteFunc(score.Rows, func(row scoreboard.Row) bool {
			return !slices.ContainsFunc(s.rules, func(part string) bool { return names(part, row.Rule) })
		})
	}
	if s.json {
		j := newScoreJSON(score, board.Seed())
		j.Command, j.Exit = r.command, r.exit
		err = cli.WriteJSON(std.Out, j)
	} else {
		err = score.WriteTable(std.Out)
	}
	switch {
	case err != nil:
		return err
	case r.interrupted:
		return cli.Silent(cli.ExitSignalled + int(syscall.SIGINT))
	case !score.OK():
		return cli.Silent(cli.ExitFound)
	}
	return nil
}
