// Package chromium opens pages from disk in headless Chromium, which has no network, and tells what failed there.
//
// It is the home of github.com/chromedp/chromedp. One browser has one tab, which opens one page after the other. A page
// that hangs or crashes costs its tab, and is told. Each page, the start of the browser, what is told of a page and what is
// told in all are bounded. The browser has a folder of its own for its profile, which is removed, and a process group of
// its own, which is killed in the end.
//
// The browser reaches nobody: all names and addresses, those of this machine included, resolve to nothing. What would
// have been asked for elsewhere is told all the same.
package chromium
