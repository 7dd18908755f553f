package crawlcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
)

func newOwn(std cli.Streams) *cobra.Command {
	cmd := cli.Command("identity own")
	cmd.Args = cli.Exactly(1, "one host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		host, err := crawldir.OwnHost(args[0])
		if err != nil {
			return cli.Usagef("%q: %w", args[0], err)
		}
		path, err := crawldir.OwnKey.Path()
		if err != nil {
			return err
		}
		key, err := crawldir.OwnKey.Make(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "Let https://%s%s hold this line, then crawl with --own-site %s:\n", host, crawler.OwnerPath, host)
		_, err = fmt.Fprintln(std.Out, crawler.OwnerValue(key, host))
		return err
	}
	return cmd
}
