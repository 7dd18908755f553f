package chromium

import (
	"errors"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// MaxOnPage is how many findings of a page are kept.
const MaxOnPage = 100

var errCrashed = errors.New("the page crashed")

// watch gathers what crosses a tab while a page is open.
type watch struct {
	mu       sync.Mutex
	page     string
	open     map[network.RequestID]*network.Request
	found    []Finding
	met      map[Finding]bool
	totals   Totals
	changed  chan struct{}
	crashed  chan struct{}
	isBroken bool
}

func newWatch() *watch {
	w := &watch{changed: make(chan struct{}, 1), crashed: make(chan struct{})}
	w.begin("")
	return w
}

// begin forgets what was before, and is called for each page.
func (w *watch) begin(page string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.page, w.found, w.met = page, nil, map[Finding]bool{}
	w.open, w.totals = map[network.RequestID]*network.Request{}, Totals{}
}

// take returns what there is of the page.
func (w *watch) take() ([]Finding, Totals) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.found, w.totals
}

// quiet reports whether nothing is asked for now.
func (w *watch) quiet() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open) == 0
}

// note takes in an event of the tab.
func (w *watch) note(ev any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if scheme, _, _ := strings.Cut(ev.Request.URL, ":"); scheme != "data" && scheme != "blob" && scheme != "about" {
			w.totals.Requests++
			if scheme != "file" {
				w.totals.Elsewhere++
			}
			w.open[ev.RequestID] = ev.Request
			w.moved()
		}
	case *network.EventLoadingFinished:
		delete(w.open, ev.RequestID)
		w.moved()
	case *network.EventLoadingFailed:
		w.failed(ev)
		w.moved()
	case *log.EventEntryAdded:
		// A request that failed, or was refused from disk, has an entry as well.
		told := ev.Entry.Source == log.EntrySourceNetwork || strings.Contains(ev.Entry.Text, "blocked by CORS policy")
		if ev.Entry.Level == log.EntryLevelError && !told {
			w.add(Finding{Kind: Console, URL: ev.Entry.URL, Line: ev.Entry.LineNumber, Why: ev.Entry.Text})
		}
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError || ev.Type == runtime.ConsoleAPICalledTypeAssert {
			f := Finding{Kind: Console, Why: words(ev.Args)}
			if s := ev.StackTrace; s != nil && len(s.CallFrames) > 0 {
				f.URL, f.Line = s.CallFrames[0].URL, s.CallFrames[0].LineNumber+1
			}
			w.add(f)
		}
	case *runtime.EventExceptionThrown:
		d := ev.ExceptionDetails
		f := Finding{Kind: Exception, URL: d.URL, Line: d.LineNumber + 1, Why: d.Text}
		if d.Exception != nil && d.Exception.Description != "" {
			f.Why, _, _ = strings.Cut(d.Exception.Description, "\n")
		}
		w.add(f)
	case *inspector.EventTargetCrashed:
		if !w.isBroken {
			w.isBroken = true
			close(w.crashed)
		}
	}
}

// moved tells who waits that there was traffic.
func (w *watch) moved() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// failed takes in a request that did not come to its end; called with mu held.
func (w *watch) failed(ev *network.EventLoadingFailed) {
	asked := w.open[ev.RequestID]
	delete(w.open, ev.RequestID)
	if asked == nil {
		return
	}
	local := strings.HasPrefix(asked.URL, "file:")
	if local && ev.Canceled && ev.CorsErrorStatus == nil {
		return // the browser has seen enough of a film, or another page was opened
	}
	f := Finding{Kind: Request, URL: asked.URL, Type: string(ev.Type), Why: ev.ErrorText, Elsewhere: !local}
	if ev.CorsErrorStatus != nil || ev.BlockedReason != "" {
		f.Refused = local
		f.Why = strings.TrimSpace(f.Why + " " + string(ev.BlockedReason))
	}
	w.add(f)
}

// add keeps a finding, once; called with mu held.
func (w *watch) add(f Finding) {
	f.Page, f.URL, f.Why = w.page, short(f.URL), short(f.Why)
	switch {
	case w.met[f]:
	case len(w.found) == MaxOnPage:
		w.totals.Dropped++
	default:
		w.met[f] = true
		w.found = append(w.found, f)
	}
}

// words are the arguments of a call to the console.
func words(args []*runtime.RemoteObject) string {
	var all []string
	for _, a := range args {
		switch {
		case a.Description != "":
			all = append(all, a.Description)
		case len(a.Value) > 0:
			all = append(all, strings.Trim(string(a.Value), `"`))
		default:
			all = append(all, string(a.Type))
		}
	}
	return strings.Join(all, " ")
}
