package crawlcmd

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
	"curtsy/storage"
)

// The words of --log.
const (
	logText = "text"
	logJSON = "json"
)

// logFlag is that of what standard error is for.
func (o *options) logFlag(fs *pflag.FlagSet) {
	fs.StringVar(&o.log, "log", logText, "`FORMAT` format of standard error: text, or json with an event per\nline (time, level, msg)")
	cli.Words(fs, "log", logText, logJSON)
}

// logged runs a command whose standard error is as --log has it. How the command ends is an event, too.
func (o *options) logged(std cli.Streams, do func(cmd *cobra.Command, args []string, std cli.Streams) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		switch o.log {
		case logText, "":
			err := do(cmd, args, std)
			o.hooks.ended(cmd.Context(), o.dir, err, std)
			return err
		case logJSON:
		default:
			return cli.Usagef("--log %s: write %s or %s", o.log, logText, logJSON)
		}
		o.journal = newJournal(std.Err)
		std.Err = o.journal
		err := do(cmd, args, std)
		o.hooks.ended(cmd.Context(), o.dir, err, std)
		lost := o.journal.Flush()
		text, code := cli.Ended(err)
		if text != "" {
			lost = errors.Join(lost, o.journal.Tell(slog.LevelError, text, slog.Int("exit_code", code)))
		}
		if err == nil || lost != nil { // whoever hears nothing of it has the code
			return err
		}
		return cli.Silent(code)
	}
}

// follower is the journal that tells of a run, if there is one and it is to tell.
func (o *options) follower() *journal {
	if o.quiet {
		return nil
	}
	return o.journal
}

// lines is who hears each line of the ledger.
func (o *options) lines(people func(storage.Line)) func(storage.Line) {
	switch {
	case !o.verbose:
		return nil
	case o.journal != nil:
		return o.journal.Line
	}
	return people
}

// begins is the event of a run that begins.
func (o *options) begins(s *crawldir.Settings, start crawldir.Start) error {
	return o.journal.Tell(slog.LevelInfo, begins, slog.String("dir", o.dir), slog.Int64("seeds", start.Seeds),
		slog.Bool("again", o.again), slog.Int64("workers", s.Workers), slog.String("version", crawldir.Version))
}

// ends is the event of one that has ended.
func (o *options) ends(s crawler.Summary, changes *crawldir.Changes) error {
	facts := []slog.Attr{
		slog.String("ended_by", s.EndedBy), slog.Bool("incomplete", s.Incomplete), slog.Int64("seeds_unanswered", s.SeedsUnanswered),
	}
	facts = append(facts, figures(s.Status)...)
	if changes != nil {
		facts = append(facts, slog.Any("changes", changes.Counts))
	}
	if o.mirrored != nil {
		facts = append(facts, slog.String("mirror", o.mirrored.Dir))
	}
	return o.journal.Tell(slog.LevelInfo, ends, facts...)
}
