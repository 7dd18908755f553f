//go:build peers

package main

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser starts headless Chromium and returns a context for chromedp with a tab of its own. What it asks for by a name
// that is not localhost comes to nothing: nothing but the test's own pages is loaded. It may be used for ten minutes and
// what is added.
func browser(t *testing.T, more ...time.Duration) context.Context {
	t.Helper()
	skipWithout(t, "chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.NoSandbox, // the tests may run as root
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(patience),
	)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // its context is the browser's, so no time-out yet
		t.Fatalf("start chromium: %v", err)
	}
	long := 10 * time.Minute
	for _, d := range more {
		long += d
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	t.Cleanup(cancel)
	return ctx
}
