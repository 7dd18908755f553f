package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"curtsy/crawler"
	"curtsy/frontier/canon"
)

// The words of --own-site that are no names of hosts.
const (
	ownLoopback = "loopback"
	ownNone     = "none"
)

// loopbackForeign reports whether --own-site says that no host is the operator's own, loopback included.
func (s *settings) loopbackForeign() bool { return slices.Contains(s.ownSite, ownNone) }

// ownNames are the names of public hosts in --own-site.
func (s *settings) ownNames() (names []string) {
	for _, name := range s.ownSite {
		if name != ownLoopback && name != ownNone {
			names = append(names, name)
		}
	}
	return names
}

// own puts --own-site and --per-host into c. The key is read only where a host is to prove something.
func (s *settings) own(c *crawler.Config) error {
	c.LoopbackForeign, c.PerHost = s.loopbackForeign(), int(s.perHost)
	names := s.ownNames()
	if c.LoopbackForeign && len(s.ownSite) > 1 {
		return usagef("--own-site none stands alone: with it no host is your own")
	}
	for _, name := range names {
		host, err := ownHost(name)
		if err != nil {
			return usagef("--own-site %q: %w", name, err)
		}
		c.OwnSites = append(c.OwnSites, host)
	}
	if len(names) == 0 {
		return nil
	}
	path, err := ownKey.path()
	if err != nil {
		return err
	}
	c.OwnKey, err = ownKey.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("--own-site %s: there is no key for its proof yet: curtsy identity own %s makes it", names[0], names[0])
	}
	return err
}

// ownHost is the name of a public host as crawls know it.
func ownHost(name string) (string, error) {
	u, err := canon.Parse("https://" + name + "/")
	if err != nil || strings.ContainsAny(name, "/?#@:\\ ") {
		return "", fmt.Errorf("write the name of a host, like www.your-domain.org: loopback and none are the only other words")
	}
	a := u.Authority()
	if _, literal := a.Addr(); literal || !strings.Contains(a.Host(), ".") {
		return "", fmt.Errorf("only a host with a public name can prove that it is yours: write its name, loopback or none")
	}
	return a.Host(), nil
}

func newIdentityOwn(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:   "own HOST",
		Short: "Print the value that proves a host to be your own",
		Long: "Print the value that proves a host to be your own. Put it, in a line of its own,\n" +
			"into the file " + crawler.OwnerPath + " of the host: a crawl with\n" +
			"--own-site HOST looks for it there, over https, each day. The key it is made\n" +
			"with is made once, and kept in your configuration folder.",
		Example: "  curtsy identity own www.your-domain.org",
		Args:    oneHost,
		RunE: func(cmd *cobra.Command, args []string) error {
			host, err := ownHost(args[0])
			if err != nil {
				return usagef("%q: %w", args[0], err)
			}
			path, err := ownKey.path()
			if err != nil {
				return err
			}
			key, err := ownKey.make(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(std.err, "Let https://%s%s hold this line, then crawl with --own-site %s:\n", host, crawler.OwnerPath, host)
			_, err = fmt.Fprintln(std.out, crawler.OwnerValue(key, host))
			return err
		},
	}
}

// oneHost is for commands that take the name of a host.
func oneHost(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("%s takes one host, not %d: write %s", cmd.Name(), len(args), cmd.UseLine())
}
