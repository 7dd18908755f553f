package crawler

import (
	"testing"
	"testing/synctest"

	"curtsy/crawler/budget"
	"curtsy/crawler/crawltest"
	"curtsy/crawler/scope"
)

func TestAnExtensionOfTheScopeHoldsInTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://short.test/"}, shortened()...)
		w.cfg.MaxPages = 2
		w.run()
		w.cfg.MaxPages = 0
		if s := w.run(); s.Status.Fetched != 4 || s.Status.Dropped != 0 {
			t.Errorf("%+v", s.Status)
		}
		// It says where a seed led to, and is none: with scope seeds it is not what was asked for.
		if len(w.said) == 0 {
			t.Error("nobody was told")
		}
	})
}

func TestAChangedScopeIsKeptAtTheTaskTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 5))
		w.cfg.MaxPages = 1
		w.run()
		w.cfg.MaxPages, w.cfg.Scope = 0, scope.Config{Exclude: []string{"/p[12]"}}
		s := w.run()
		w.wantOutcomes("http://a.test/p1.html", "dropped: scope:exclude")
		if s.Status.Dropped != 2 || s.Status.Fetched != 3 {
			t.Errorf("%+v", s.Status)
		}
	})
}

func TestBudgetsAndAnswersGoOnOverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := crawltest.Tree("a.test", 5)
		site.Pages["/p1.html"] = crawltest.Page{FailFirst: 1, FailStatus: 500}
		w := newWorld(t, []string{"http://a.test/"}, site)
		w.cfg.MaxBytes = 1
		first := w.run()
		if s := w.run(); s.EndedBy != EndedMaxBytes || s.Status.Bytes != first.Status.Bytes {
			t.Errorf("%d octets, then %d: the budget was used up before", first.Status.Bytes, s.Status.Bytes)
		}
		w.cfg.MaxBytes = 0
		// A crawl that was answered before waits for what is due within MaxWait, though nobody has answered yet.
		if s := w.run(); s.EndedBy != EndedDrained || s.Status.Fetched != 5 {
			t.Errorf("ended by %q, %d fetched", s.EndedBy, s.Status.Fetched)
		}
	})
}

func TestABudgetKnowsWhetherAnybodyEverAnswered(t *testing.T) {
	if budget.New(0, 0, nil, nil).Answered() || !budget.New(0, 0, map[string]int64{budget.Answers: 1}, nil).Answered() {
		t.Error("answers of earlier runs count, and only answers")
	}
}
