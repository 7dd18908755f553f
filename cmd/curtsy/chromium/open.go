package chromium

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"curtsy/cmd/curtsy/procgroup"
)

// Bounds of a run.
const (
	PerPage  = 20 * time.Second       // that a page may take
	start    = 30 * time.Second       // that the browser may take to start
	rest     = 300 * time.Millisecond // without a request, after which a page counts as whole
	restless = 5 * time.Second        // after which it does so all the same
	maxLost  = 10                     // tabs in a row that hang or crash; the browser, not the page, is at fault then
)

// names are those that Chromium and its kin go by.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell", "/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"}

// ErrNone says that there is no browser, and what to install.
var ErrNone = errors.New("there is no Chromium to open pages with: install it (Debian, Ubuntu: apt install chromium; macOS: brew install --cask chromium; elsewhere Chromium or Google Chrome), or name it with --chromium PROGRAM")

// Program finds the browser: the one of that name, or else any.
func Program(name string) (string, error) {
	if name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("chromium: %w", err)
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNone
}

// stubs keep a page from asking a person, and from opening windows.
const stubs = `for (const f of ["alert", "confirm", "prompt", "print", "open"]) window[f] = () => null`

// Page is a page to open.
type Page struct {
	Name string // for Finding.Page
	URL  string
}

// browser is a Chromium that runs.
type browser struct {
	ctx  context.Context // of its first tab, which stays empty
	tab  context.Context
	shut context.CancelFunc // of the tab
	w    *watch
	lost int
}

// Open opens pages with a program and tells what failed on each, in their order. An error of found ends it.
func Open(ctx context.Context, program string, pages iter.Seq[Page], found func(Finding) error) (sum Totals, err error) {
	profile, err := os.MkdirTemp("", "curtsy-chromium-")
	if err != nil {
		return sum, fmt.Errorf("chromium: make a folder for its profile: %w", err)
	}
	defer func() { err = errors.Join(err, remove(profile)) }()
	var process *exec.Cmd
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile),
		// Nothing resolves, addresses included, and nothing goes around that.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND"),
		chromedp.Flag("webrtc-ip-handling-policy", "disable_non_proxied_udp"),
		chromedp.Flag("block-new-web-contents", true),
		chromedp.Flag("mute-audio", true),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			process = cmd
			procgroup.Together(cmd)
		}),
	)
	if len(profile) < 60 { // or a socket below it would have too long a path
		options = append(options, chromedp.Env("TMPDIR="+profile)) // where a browser that is killed leaves something
	}
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	defer func() {
		stop()
		if process != nil && process.Process != nil {
			procgroup.EndAll(process)
		}
	}()
	b := &browser{}
	first, closeFirst := chromedp.NewContext(ctx)
	defer closeFirst()
	late := time.AfterFunc(start, closeFirst)
	if err := chromedp.Do(first, chromedp.Navigate("about:blank")); err != nil {
		return sum, fmt.Errorf("chromium: start %s: %w", program, err)
	}
	late.Stop()
	b.ctx, b.shut = first, func() {}
	defer func() { b.shut() }()
	for p := range pages {
		totals, all, err := b.one(p)
		if ctx.Err() != nil {
			return sum, ctx.Err()
		}
		if err != nil {
			return sum, err
		}
		sum.Pages++
		sum.Requests, sum.Elsewhere, sum.Dropped = sum.Requests+totals.Requests, sum.Elsewhere+totals.Elsewhere, sum.Dropped+totals.Dropped
		for _, f := range all {
			if err := found(f); err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// remove removes a folder that processes which are about to die may still write to.
func remove(dir string) (err error) {
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

// one opens a page.
func (b *browser) one(p Page) (Totals, []Finding, error) {
	if b.tab == nil {
		if err := b.newTab(); err != nil {
			return Totals{}, nil, err
		}
	}
	b.w.begin(p.Name)
	ctx, cancel := context.WithTimeout(b.tab, PerPage)
	defer cancel()
	err := b.load(ctx, p.URL)
	found, totals := b.w.take()
	if err == nil {
		b.lost = 0
		return totals, found, nil
	}
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = fmt.Sprintf("it was not shown within %v, or hangs", PerPage)
	}
	if shown := len(found) > 0 && strings.HasPrefix(why, "page load error"); !shown {
		found = append(found, Finding{Page: p.Name, Kind: NotOpened, URL: short(p.URL), Why: short(why)})
	}
	if ctx.Err() == nil && !errors.Is(err, errCrashed) {
		return totals, found, nil
	}
	b.shut() // the tab is of no more use
	b.tab, b.shut = nil, func() {}
	if b.lost++; b.lost == maxLost {
		return totals, found, fmt.Errorf("chromium: %d pages in a row hung or crashed, the last: %s", maxLost, p.Name)
	}
	return totals, found, nil
}

// newTab opens a tab.
func (b *browser) newTab() error {
	w := newWatch()
	tab, shut := chromedp.NewContext(b.ctx)
	late := time.AfterFunc(start, shut)
	defer late.Stop()
	err := chromedp.Listen(tab, w.note)
	if err == nil {
		_, err = chromedp.Call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: stubs})
	}
	if err != nil {
		shut()
		return fmt.Errorf("chromium: open a tab: %w", err)
	}
	b.tab, b.shut, b.w = tab, shut, w
	return nil
}

// load opens a URL and waits until it has come to rest.
func (b *browser) load(ctx context.Context, url string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	loaded := make(chan error, 1)
	go func() { loaded <- chromedp.Do(ctx, chromedp.Navigate(url)) }()
	select {
	case err := <-loaded:
		if err != nil {
			return err
		}
	case <-b.w.crashed:
		cancel(errCrashed)
		<-loaded //nolint:errcheck // the crash is why it failed
		return errCrashed
	}
	if err := b.settle(ctx); err != nil {
		return err
	}
	// A script without an end would be blamed on the next page.
	_, err := chromedp.Run(ctx, chromedp.Evaluate[int]("1"))
	return err
}

// settle waits until nothing was asked for, for a while. Some pages never come to rest.
func (b *browser) settle(ctx context.Context) error {
	calm, enough := time.NewTimer(rest), time.NewTimer(restless)
	defer calm.Stop()
	defer enough.Stop()
	for {
		select {
		case <-calm.C:
			if b.w.quiet() {
				return nil
			}
			calm.Reset(rest)
		case <-b.w.changed:
			calm.Reset(rest)
		case <-enough.C:
			return nil
		case <-b.w.crashed:
			return errCrashed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
