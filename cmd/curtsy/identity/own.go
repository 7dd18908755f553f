package identity

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
		Long: "Print the value that proves a host to be your own. Put it, in a line of its own,\n" +
			"into the file " + crawler.OwnerPath + " of the host: a crawl with\n" +
			"--own-site HOST looks for it there, over https, each day. The key it is made\n" +
			"with is made once, and kept in your configuration folder.",
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
