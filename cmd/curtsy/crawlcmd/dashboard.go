package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/dashboard"
)

// NewDashboard shows crawls that run, here or in other processes, and crawls that do not.
func NewDashboard(std cli.Streams) *cobra.Command {
	listen, token := "127.0.0.1:0", ""
	var names cli.List
	cmd := cli.Command("dashboard", cli.Flags{"listen": &listen, "name": &names, "token": &token})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New("dashboard takes one crawl directory or more: write curtsy dashboard DIR")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return show(cmd.Context(), args, listen, token, names, std)
	}
	return cmd
}

func show(ctx context.Context, dirs []string, listen, tokenFile string, names []string, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, dir := range dirs {
		if err := crawldir.Require(dir); err != nil {
			return err
		}
	}
	token, err := tokenIn("--token", tokenFile)
	if err != nil {
		return err
	}
	l, err := cli.Listen(ctx, listen)
	if err != nil {
		return err
	}
	s := of(dirs, dashboard.Options{Names: names, Token: token})
	fmt.Fprint(std.Err, warning(l.Addr()))
	if _, err := fmt.Fprintln(std.Out, s.Address(cli.FromHere(l.Addr()))); err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	return s.Serve(ctx, l)
}

// of shows directories. Profile in o says that the crawl is one of this process.
func of(dirs []string, o dashboard.Options) *dashboard.Server {
	o.Metrics = dashboard.MetricsOptions{Version: crawldir.Version, Process: o.Profile}.Handler
	for _, dir := range dirs {
		o.Sources = append(o.Sources, dashboard.NewDirectory(dir))
	}
	return dashboard.New(o)
}

// warning is about an address that other machines may reach; empty for another.
func warning(at net.Addr) string {
	if !cli.Elsewhere(at) {
		return ""
	}
	return fmt.Sprintf("other machines may reach %s, and the page is not encrypted there: anyone who can read the traffic can steer the crawl. "+
		"Put a server that speaks TLS before it, or reach it through ssh -L\n", at)
}

// beside shows a page beside a crawl of this process. Its zero value shows none.
type beside struct {
	Address string // where to listen; empty for no page
	Token   string // the file with its token; empty for a new token
	token   string
	l       net.Listener
	end     context.CancelFunc
	served  chan error
	told    io.Writer // standard error
}

// Listen takes the address, so that one that cannot be had is said before anything is made.
func (b *beside) Listen(ctx context.Context) (err error) {
	if b.Address == "" {
		if b.Token != "" {
			return cli.Usagef("--dashboard-token is for --dashboard ADDRESS:PORT")
		}
		return nil
	}
	if b.token, err = tokenIn("--dashboard-token", b.Token); err != nil {
		return err
	}
	b.l, err = cli.ListenFor(ctx, "--dashboard", b.Address)
	return err
}

// Begin shows the crawl in dir, and says where on standard error.
func (b *beside) Begin(ctx context.Context, dir string, std cli.Streams) error {
	if b.l == nil {
		return nil
	}
	s := of([]string{dir}, dashboard.Options{Token: b.token, Profile: true})
	fmt.Fprint(std.Err, warning(b.l.Addr()))
	if _, err := fmt.Fprintf(std.Err, "dashboard: %s\n", s.Address(cli.FromHere(b.l.Addr()))); err != nil {
		return err
	}
	ctx, b.end = context.WithCancel(context.WithoutCancel(ctx))
	b.served, b.told = make(chan error, 1), std.Err
	go func() { b.served <- s.Serve(ctx, b.l) }() // End waits for it
	return nil
}

// End ends the page. A page that could not be served is no failure of the crawl: it is said, and that is all.
func (b *beside) End() {
	switch {
	case b.end != nil:
		b.end()
		if err := <-b.served; err != nil {
			fmt.Fprintf(b.told, "the dashboard ended before the crawl: %v\n", err)
		}
		b.end = nil
	case b.l != nil:
		b.l.Close()
	}
	b.l = nil
}

// sound matches tokens that need no escaping in a header field or a URL and are long enough not to be guessed.
var sound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9._~+/-]{20,200}=*$`)
})

// maxToken is how much of a file is read, in bytes.
const maxToken = 1 << 10

// tokenIn reads a dashboard's token from the user's file. Other users must not be able to read that file, because the token
// gives control of the crawl. Without a path it returns no token, and the dashboard generates one.
func tokenIn(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := userfile.Open(path)
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	fi, err := f.Stat()
	switch {
	case err != nil:
		return "", cli.Usagef("%s: %w", flag, err)
	case runtime.GOOS != "windows" && fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0:
		return "", cli.Usagef("%s: other users can read %s, and anyone with the token can steer the crawl; chmod 600 prevents that", flag, path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	token := strings.TrimSpace(string(b))
	if !sound().MatchString(token) {
		return "", cli.Usagef("%s: %s holds no token, which is a line of 20 to 200 letters and digits, as openssl rand -hex 32 prints it", flag, path)
	}
	return token, nil
}
