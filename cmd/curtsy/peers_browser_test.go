//go:build peers

package main

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser starts headless Chromium and returns a chromedp context with a tab. It resolves only localhost, so that only the test's
// own pages load. The context lasts ten minutes and more.
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
	if _, err := chromedp.Run(ctx, chromedp.Title()); err != nil { // this context is the browser's, so it has no timeout
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
