package evidencecmd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/plainly"
	"curtsy/storage/witness"
)

// The folder of the user's own witness, beside the configuration, and the list of logs in the folder of any.
const (
	witnessFolder = "witness"
	witnessLogs   = "logs.txt"
)

// witnessing are the flags of ledger witness.
type witnessing struct {
	listen, dir, list, name string
	logs                    []string
	key                     bool
}

func newLedgerWitness(std cli.Streams) *cobra.Command {
	var o witnessing
	cmd := &cobra.Command{
		Use:   "witness [flags]",
		Short: "Cosign the checkpoints of logs that you follow",
		Long: "Cosign checkpoints of ledgers, your own and those of others, until Ctrl-C: each\n" +
			"that is signed by a key you trust, and continues the one before. A log that is\n" +
			"shown with two histories is refused. Others send checkpoints with curtsy ledger\n" +
			"lodge --witness URL. Its URL and verifier key are printed on standard output.\n" +
			"Logs to follow are given with --log or listed in a file, one a line: an origin\n" +
			"and a verifier key, or a key alone for all crawls of that key. The file is read\n" +
			"again when it changes.",
		Example: "  curtsy ledger witness --log \"$(curtsy ledger key)\"\n" +
			"  curtsy ledger witness --listen 10.0.0.5:7380 --logs lab.txt\n" +
			"  curtsy ledger witness --key",
		Args: cli.NoArgs,
		RunE: cli.Interruptible(func(ctx context.Context, _ []string) error { return o.run(ctx, std) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.listen, "listen", "127.0.0.1:7380", "`ADDRESS:PORT` to listen at; port 0 takes any that is free")
	cli.Group(fs, "Server")
	fs.StringArrayVar(&o.logs, "log", nil, "a `LOG` to follow, ORIGIN=KEY, or KEY for all crawls of that key; repeatable")
	fs.StringVar(&o.list, "logs", "", "`FILE` of logs to follow (default logs.txt in the folder of the witness)")
	cli.Group(fs, "Logs")
	fs.StringVar(&o.dir, "dir", "", "`FOLDER` of the witness: its key, and what it has cosigned (default witness beside your configuration)")
	fs.StringVar(&o.name, "name", "", "`NAME` of its key when it is made, such as witness.example/w1 (default made of the key)")
	fs.BoolVar(&o.key, "key", false, "print its verifier key and do nothing else")
	cli.Group(fs, "Folder and key")
	return cmd
}

func (o *witnessing) run(ctx context.Context, std cli.Streams) error {
	var given witness.Logs
	for _, text := range o.logs {
		origin, k, err := witness.ParseLog(text)
		if err != nil {
			return cli.Usagef("--log: %w", err)
		}
		given.Follow(origin, k)
	}
	if o.dir == "" {
		config, err := crawldir.UserConfig()
		if err != nil {
			return fmt.Errorf("%w; give the folder of the witness with --dir", err)
		}
		o.dir = filepath.Join(filepath.Dir(config), witnessFolder)
	}
	if o.key {
		k, err := witness.KeyOf(o.dir, o.name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(std.Out, k.Cosigner())
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintln(std.Err, plainly.Lines(fmt.Sprintf(format, args...))) }
	if o.list == "" {
		o.list = filepath.Join(o.dir, witnessLogs)
	}
	list, err := witness.OpenList(o.list, given, say)
	if err != nil {
		return err
	}
	w, err := witness.Open(o.dir, witness.Options{Name: o.name, Logs: list.Logs, Say: say})
	if err != nil {
		return err
	}
	defer w.Close() // nothing is left to be written
	l, err := cli.Listen(ctx, o.listen)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(std.Out, "http://%s/\n%s\n", cli.FromHere(l.Addr()), w.Key().Cosigner()); err != nil {
		_ = l.Close() // the error is what matters
		return err
	}
	if n := list.Logs().Len(); n == 0 {
		say("it follows no log yet: write origins and keys into %s, or give --log", o.list)
	} else {
		say("origins that it follows: %d", n)
	}
	if cli.Elsewhere(l.Addr()) {
		say("other machines may reach %s; whoever has a key that is followed may have checkpoints cosigned", l.Addr())
	}
	say("cosigning until Ctrl-C")
	if err := witness.Serve(ctx, l, w.Handler()); err != nil {
		return err
	}
	return context.Cause(ctx)
}
