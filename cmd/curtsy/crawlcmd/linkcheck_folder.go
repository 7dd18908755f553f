package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/check"
	"curtsy/crawler/check/static"
	"curtsy/crawler/crawldir"
)

// judgeFolder serves a folder of files to a crawl of this process, and judges that. The crawl is kept only where the user
// says where.
func (c *checking) judgeFolder(cmd *cobra.Command, folder string) (err error) {
	site, err := static.Open(folder, c.site)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	pages, err := site.Pages()
	if err != nil {
		return err
	}
	if len(pages) == 0 {
		return cli.Usagef("%s contains neither a crawl nor an .html file", folder)
	}
	if c.dir != "" && isCrawl(c.dir) {
		return cli.Usagef("%s already contains a crawl: name a new directory with --dir, or leave the flag out", c.dir)
	}
	if c.s.Served, err = filepath.Abs(folder); err != nil {
		return fmt.Errorf("linkcheck: %w", err)
	}
	if c.dir == "" {
		temp, err := os.MkdirTemp("", "curtsy-check-")
		if err != nil {
			return fmt.Errorf("linkcheck: %w", err)
		}
		defer os.RemoveAll(temp)
		c.dir, c.thrown = filepath.Join(temp, "crawl"), true
		c.quiet = !c.verbose // it says nothing on its way, unless the user asked for that
	}
	fs := cmd.Flags()
	for name, value := range map[string]string{"delay": "0", "per-host": "8"} { // it is nobody else's host
		if f := fs.Lookup(name); !f.Changed {
			if err := fs.Set(name, value); err != nil {
				return err
			}
		}
	}
	l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("linkcheck: serve %s on this machine: %w", folder, err)
	}
	origin := "http://" + l.Addr().String()
	c.within = func(r *check.Result) {
		r.Within(origin, fileOf(site, folder))
		r.LeadOut(site.LeadsOut)
	}
	server := &http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	for i := range pages {
		pages[i] = origin + pages[i]
	}
	c.then = func(e Ended) error { return c.judgeEnded(cmd, e) }
	err = crawl(cmd.Context(), c.flags, &c.s, &c.options, World{}, pages, c.std)
	if closed := server.Shutdown(context.WithoutCancel(cmd.Context())); err == nil {
		err = closed
	}
	if ended := <-served; err == nil && !errors.Is(ended, http.ErrServerClosed) {
		err = ended
	}
	return err
}

// fileOf names the file of a page, as an editor opens it.
func fileOf(site *static.Site, folder string) func(string) string {
	return func(path string) string {
		if u, err := url.Parse(path); err == nil {
			path = u.EscapedPath()
		}
		if name, ok := site.File(path); ok {
			return filepath.Join(folder, filepath.FromSlash(name))
		}
		return path
	}
}

// isCrawl reports whether a directory is that of a crawl, or of what once was one.
func isCrawl(dir string) bool {
	for _, name := range []string{crawldir.FrontierName, crawldir.LedgerName, crawldir.ConfigName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}
