package accesslog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// aDay is a crawl of a host, and its log, with another client in it.
func aDay() (es []*evidence.Exchange, log []string) {
	for i := range 60 {
		at := noon.Add(time.Duration(i) * 20 * time.Second)
		e := exchange(fmt.Sprintf("http://a.test/%d", i), at, time.Second, 200)
		if i == 0 {
			e = exchange("http://a.test/robots.txt", at, time.Second, 200)
		}
		es, log = append(es, e), append(log, logged(e, ourAgent), logged(exchange("http://a.test/", at.Add(9*time.Second), 0, 200), "other/1"))
	}
	return es, log
}

func TestLinesThatOverlapCountOnce(t *testing.T) {
	es, log := aDay()
	cut := func(from, to int) []string { return slices.Clone(log[from:to]) }
	twice := slices.Insert(slices.Clone(log), 60, log[60])
	torn := append(cut(0, 80), log[80][:40])
	other := func(lines []string) (all []string) { // the log of another server, busy with others
		for i, l := range lines {
			all = append(all, strings.Replace(strings.Replace(l, "192.0.2.9", "192.0.2.77", 1), ourAgent, "other/2", 1))
			if i == len(lines)/2 {
				all = append(all, log[60])
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		files [][]string
		want  string
		agree int64
	}{
		"rotated":                           {files: [][]string{cut(0, 80), cut(80, 120)}, agree: 60},
		"copied before it went on":          {files: [][]string{cut(0, 80), cut(50, 120)}, agree: 60},
		"in the other order":                {files: [][]string{cut(50, 120), cut(0, 80)}, agree: 60},
		"by one line":                       {files: [][]string{cut(0, 81), cut(80, 120)}, agree: 60},
		"three":                             {files: [][]string{cut(0, 80), cut(50, 100), cut(70, 120)}, agree: 60},
		"three in a row":                    {files: [][]string{cut(80, 120), cut(0, 50), cut(40, 90)}, agree: 60},
		"the same again":                    {files: [][]string{cut(0, 120), cut(0, 120), cut(0, 120)}, agree: 60},
		"a part":                            {files: [][]string{cut(0, 120), cut(30, 70)}, agree: 60},
		"a part, of one line":               {files: [][]string{cut(60, 61), cut(0, 120)}, agree: 60},
		"a torn copy":                       {files: [][]string{torn, cut(60, 120)}, want: "(access-log-line)", agree: 60},
		"a torn beginning":                  {files: [][]string{cut(0, 80), append([]string{log[59][30:]}, cut(60, 120)...)}, want: "(access-log-line)", agree: 60},
		"requested twice, in one file":      {files: [][]string{twice}, want: "log-extra", agree: 60},
		"requested twice, and overlapping":  {files: [][]string{twice[:70], twice[50:]}, want: "log-extra", agree: 60},
		"requested twice, from two servers": {files: [][]string{log, other(log)}, agree: 60}, // undecidable: it is counted among the copies
		"taken out of both":                 {files: [][]string{slices.Delete(cut(0, 80), 60, 61), slices.Delete(cut(50, 120), 10, 11)}, want: "log-missing", agree: 59},
		"taken out of the first":            {files: [][]string{slices.Delete(cut(0, 80), 20, 21), cut(50, 120)}, want: "log-missing", agree: 59},
		"added to both":                     {files: [][]string{append(cut(0, 80), log[4]), append([]string{log[78], log[79], log[4]}, log[80:]...)}, want: "log-extra", agree: 60},
	} {
		o := Options{TempDir: t.TempDir(), Memory: 1000, Whole: true, Logs: logFiles(t, c.files...)}
		r, found := witnessed(t, Compare(o), es...)
		if h := r.Logs[0]; codesOf(found) != c.want || h.Agree != c.agree || h.Uncovered > 0 {
			t.Errorf("%s: %q, want %q; %+v\n%+v", name, codesOf(found), c.want, h, found)
		}
	}
}

func TestCompare_SharedLineIsHarmless(t *testing.T) {
	es, log := aDay()
	es = slices.Insert(es, 30, es[30])
	o := Options{TempDir: t.TempDir(), Logs: logFiles(t, log[:61], log[60:])}
	if r, found := witnessed(t, Compare(o), es...); len(found) > 0 || r.Logs[0].Agree != 61 {
		t.Errorf("%+v %+v", found, r.Logs[0])
	}
}

func TestJudge_OverlappingLogsCountOnce(t *testing.T) {
	_, log := aDay()
	for name, c := range map[string]struct {
		files [][]string
		gaps  bool
	}{
		"overlapping": {files: [][]string{log[:80], log[50:]}}, "asked twice": {files: [][]string{slices.Insert(slices.Clone(log), 60, log[60], log[60], log[60])}, gaps: true},
	} {
		r, err := Judge(t.Context(), JudgeOptions{Token: "curtsy", Floor: 10 * time.Second, TempDir: t.TempDir(), Logs: logFiles(t, c.files...)})
		require.NoError(t, err)
		if found := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Code == finding.Gap }); found != c.gaps || r.Totals.Exchanges != 60 && !c.gaps {
			t.Errorf("%s: %v, want %v; %+v", name, found, c.gaps, r.Totals)
		}
	}
}
