package config

import (
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/robots"
	"curtsy/storage/mirror/layout"
)

// Flags declares every setting as a flag, with its default.
func Flags(s *crawldir.Settings, fs *pflag.FlagSet) {
	declare(s, fs)
	cli.Often(fs, "contact", "scope", "include", "exclude", "depth", "delay", "max-pages", "max-per-host", "max-time", "max-wait", "per-host")
}

// Some declares those settings alone that are named. It returns the flags of all.
func Some(s *crawldir.Settings, fs *pflag.FlagSet, names ...string) (all *pflag.FlagSet) {
	all = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	declare(s, all)
	for _, name := range names {
		fs.AddFlag(all.Lookup(name))
	}
	return all
}

// The settings that say who crawls, and what for; those that say how requests are signed; and those that commands take which
// ask a host beside the crawls.
var (
	Identity  = []string{"agent", "contact", "operator", "purpose"}
	Signature = []string{"signature-agent", "signature-draft", "signature-life"}
	Asking    = []string{"contact", "allow-net", "ca-file", "bind", "ipv4", "ipv6", "proxy"}
)

// Scopes explains the values of --scope, for help.
const Scopes = "Scopes, for --scope:\n" +
	"  host    the hosts of the seeds, http and https, with and without www.\n" +
	"  domain  all hosts of the registrable domain: blog.example.org for example.org\n" +
	"  prefix  the URLs of a seed's host below the last / of the seed\n" +
	"  seeds   seeds only; links are not followed\n" +
	"  any     every host that links lead to; needs --max-pages or --max-time"

// Standards are the names of the documents on robots.txt.
func Standards() (names []string) {
	for _, s := range robots.Standards() {
		names = append(names, s.String())
	}
	return names
}

// declare declares every setting, and says of those that take words which.
func declare(s *crawldir.Settings, fs *pflag.FlagSet) {
	*s = crawldir.Defaults()
	s.Flags(fs, func(title string) { cli.Group(fs, title) })
	cli.Words(fs, "signature-draft", webbotauth.Drafts()...)
	cli.Words(fs, "scope", "host", "domain", "prefix", "seeds", "any")
	cli.Words(fs, "page-requisites", "none", "scope", "host", "all", "script", "all,script")
	cli.Words(fs, "external", "none", "head", "get")
	cli.Words(fs, "sample", "hosts:", "pages:")
	cli.Words(fs, "sitemaps", "robots", "none")
	cli.Words(fs, "robots-standard", Standards()...)
	cli.Words(fs, "follow-rel", "nofollow", "ugc", "sponsored", "none")
	cli.Words(fs, "follow", extract.FollowWords()...)
	cli.Words(fs, "own-site", crawldir.OwnLoopback, crawldir.OwnNone)
	cli.Words(fs, "stop-when", "pages=", "tag:", "errors>", "duplicates>", "new-hosts<", "none")
	cli.Words(fs, "order", "breadth", "depth")
	cli.Words(fs, "layout", layout.Words()...)
	cli.Words(fs, "vanished", "keep", "remove")
	var traps []string
	for _, name := range crawldir.TrapNames() {
		traps = append(traps, name+"=")
	}
	cli.Words(fs, "trap", traps...)
}
