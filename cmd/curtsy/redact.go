package main

import (
	"context"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// options are the flags.
type options struct {
	all, dryRun, json, quiet bool
	reason                   string
	packed                   []string
}

// redactCommand is curtsy redact.
func redactCommand(std cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "redact [flags] DIR URL|HOST|HOST/PATH",
		Short: "Remove content of a URL or host",
		Long: "Remove the bodies of a URL, a host or part of a host from a stopped crawl:\n" +
			"archive, index, mirror, report and WACZ files. --all also removes requests,\n" +
			"header fields and ledger lines. This cannot be undone. A ledger entry records\n" +
			"when, why and how much; audit reports it as redacted. The content is also\n" +
			"excluded from now on, as by curtsy optout add. The frontier keeps the URLs and\n" +
			"robots.txt.\n\n" +
			"A scheme and a path mean that URL only; HOST/PATH without a scheme means all\n" +
			"URLs that begin with it, and .example.org a domain and its subdomains.",
		Example: "  curtsy redact --dry-run news https://www.your-domain.org/people/me.html\n" +
			"  curtsy redact --reason 'asked by mail' news www.your-domain.org/people/\n" +
			"  curtsy redact --all news www.your-domain.org",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return cli.Usagef("redact takes a crawl directory, and a URL, a host, or HOST/PATH")
			case len(args) > 2:
				return cli.Usagef("redact takes one URL, host or HOST/PATH at a time")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := parseSubject(args[1])
			if err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			if err := crawldir.Require(args[0]); err != nil {
				return err
			}
			return cli.UntilSignal(cmd.Context(), func(ctx context.Context) error {
				return forget(ctx, args[0], s, o, std)
			})
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&o.all, "all", false, "remove everything, not only bodies")
	fs.StringVar(&o.reason, "reason", "", "`TEXT` reason; the ledger keeps it forever, so do not name people")
	fs.StringArrayVar(&o.packed, "wacz", nil, "`FILE` also rewrite this WACZ file of the crawl; those in DIR are always rewritten; repeatable")
	cli.Group(fs, "What to remove")
	fs.BoolVar(&o.dryRun, "dry-run", false, "list what would be removed, but change nothing")
	fs.BoolVar(&o.json, "json", false, "print one JSON object")
	cli.QuietFlag(fs, &o.quiet)
	cli.Group(fs, "Output")
	return cmd
}

func (o *options) check() error {
	if strings.ContainsFunc(o.reason, unicode.IsControl) || len(o.reason) > 1000 {
		return cli.Usagef("--reason: must be one line of at most 1000 bytes")
	}
	return nil
}
