package crawlcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler"
	"curtsy/crawler/crawldir"
)

func newOwn(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "own HOST",
		Short: "Print the value that verifies your host",
		Long: "Print the value that proves that a host is yours. Put it on a separate line of\n" +
			"the file " + crawler.OwnerPath + " on the host: a crawl with\n" +
			"--own-site HOST requests it daily, over https. Its key is created once and kept\n" +
			"in your configuration folder.",
		Example: "  curtsy identity own www.your-domain.org",
		Args:    cli.Exactly(1, "one host"),
		RunE: func(cmd *cobra.Command, args []string) error {
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
		},
	}
}
