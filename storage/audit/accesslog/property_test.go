package accesslog

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

type written struct {
	at   time.Time
	text string
	of   int // the exchange, or -1 for another client
}

var unheardStatuses = []int{400, 408, 414, 431, 494}

// crawlAndLog makes an honest crawl of one host, one exchange at a time, some slow, cut or unanswered, and the log of its
// server, which differs by skew and stamps begins or ends, with other clients in it.
func crawlAndLog(rng *rand.Rand, skew time.Duration, n, urls int) ([]*evidence.Exchange, []written) {
	now := noon.Add(time.Duration(rng.IntN(1e9)))
	start := now
	apache := rng.IntN(2) == 0
	var es []*evidence.Exchange
	var log []written
	write := func(of int, began time.Time, took time.Duration, target string, status int, agent string) {
		stamp := began.Add(took)
		if apache {
			stamp = began
		}
		log = append(log, written{began.Add(took), fmt.Sprintf("192.0.2.%d - - [%s] \"GET %s HTTP/1.1\" %d 5 \"-\" %q\n", max(of, -1)%2+9,
			stamp.Add(skew).Format(timeForm), target, status, agent), of})
	}
	for i := range n {
		took := time.Duration(rng.IntN(400)) * time.Millisecond
		if rng.IntN(15) == 0 {
			took = time.Duration(rng.IntN(60)) * time.Second
		}
		status := []int{200, 200, 200, 301, 404}[rng.IntN(5)]
		if rng.IntN(8) == 0 {
			status = unheardStatuses[rng.IntN(len(unheardStatuses))]
		}
		e := exchange(fmt.Sprintf("http://a.test/%d", rng.IntN(urls)), now, took, status)
		e.Ended, e.Robots = rng.IntN(20) > 0, i == 0
		inside := time.Duration(rng.Int64N(int64(took) + 1)) // the server ends before the crawler has read it all
		switch rng.IntN(12) {
		case 0: // cut off by the crawler: the server notices some time
			e.Cut = "length"
			write(i, now, took+time.Duration(rng.IntN(30))*time.Second, e.Target, []int{200, 499}[rng.IntN(2)], ourAgent)
		case 1: // not answered, and logged or not
			e.Status, e.Answered = 0, false
			if rng.IntN(2) == 0 {
				write(i, now, took, e.Target, 499, ourAgent)
			}
		default:
			agent := ourAgent
			if isUnread(status) { // the server gave up before it read header fields
				agent = []string{"-", ""}[rng.IntN(2)]
			}
			write(i, now, inside, e.Target, status, agent)
		}
		es = append(es, e)
		now = now.Add(took + time.Second + time.Duration(rng.IntN(3000))*time.Millisecond)
	}
	for range rng.IntN(400) {
		took := time.Duration(rng.IntN(300)) * time.Millisecond
		if rng.IntN(10) == 0 {
			took = time.Duration(rng.IntN(90)) * time.Second
		}
		at := start.Add(time.Duration(rng.Int64N(int64(now.Sub(start)+2*time.Minute))) - time.Minute)
		write(-1, at, took, fmt.Sprintf("/%d", rng.IntN(20)), 200, "other/1 (+https://x.example)")
	}
	slices.SortStableFunc(log, func(a, b written) int { // the order within a second is any
		if a.at.Truncate(time.Second).Equal(b.at.Truncate(time.Second)) {
			return rng.IntN(3) - 1
		}
		return cmp.Compare(a.at.UnixNano(), b.at.UnixNano())
	})
	return es, log
}

func texts(log []written) string {
	var b strings.Builder
	for _, l := range log {
		b.WriteString(l.text)
	}
	return b.String()
}

func rotated(t *testing.T, rng *rand.Rand, log []written, lose bool) []Log {
	t.Helper()
	dir := t.TempDir()
	var files []Log
	for n := 0; len(log) > 0; n++ {
		k := len(log)
		if rng.IntN(2) == 0 {
			k = 1 + rng.IntN(len(log))
		}
		text := texts(log[:k])
		log = log[k:]
		if lose && rng.IntN(4) == 0 {
			continue
		}
		path := filepath.Join(dir, fmt.Sprintf("access.log.%d", n))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		files = append(files, Log{Path: path})
	}
	if len(files) == 0 {
		files = append(files, Log{Path: logFile(t, "")})
	}
	return files
}

func trials(n int) int {
	if os.Getenv("CURTSY_LONG") != "" {
		return 20 * n
	}
	return n
}

func TestCompare_AcceptsHonestCrawls(t *testing.T) {
	agreed, uncovered := int64(0), int64(0)
	for seed := range trials(300) {
		rng := rand.New(rand.NewPCG(uint64(seed), 13))
		skew := time.Duration(rng.IntN(3900)-1950) * time.Millisecond
		es, log := crawlAndLog(rng, skew, 5+rng.IntN(60), 20)
		from, to := 0, len(log)
		if rng.IntN(4) > 0 {
			from = rng.IntN(len(log))
			to = from + rng.IntN(len(log)-from+1)
		}
		if rng.IntN(4) == 0 {
			k := rng.IntN(len(es))
			es = es[k : k+1+rng.IntN(len(es)-k)]
		}
		o := Options{Logs: rotated(t, rng, log[from:to], rng.IntN(2) == 0), TempDir: t.TempDir()}
		r, found := witnessed(t, Compare(o), es...)
		h := r.Logs[0]
		if found = slices.DeleteFunc(found, func(f finding.Finding) bool { return f.Note }); len(found) > 0 {
			t.Fatalf("seed %d: lines %d to %d of %d: %+v\n%+v", seed, from, to, len(log), found[0], h)
		}
		if h.Agree+h.Uncovered+h.Unanswered != h.Exchanges || h.Exchanges != int64(len(es)) {
			t.Fatalf("seed %d: lost: %+v", seed, h)
		}
		reported := strings.Contains(strings.Join(r.CannotShow, "\n"), fmt.Sprintf("%d requests are not in it", h.Uncovered))
		require.Equalf(t, h.Uncovered > 0, reported, "seed %d: %d uncovered, and reported: %v", seed, h.Uncovered, r.CannotShow)
		agreed, uncovered = agreed+h.Agree, uncovered+h.Uncovered
	}
	if agreed == 0 || uncovered == 0 {
		t.Errorf("%d agree, %d are uncovered: the trial tries nothing", agreed, uncovered)
	}
}

func TestCompare_FindsMissingLines(t *testing.T) {
	tried := 0
	for seed := range trials(200) {
		rng := rand.New(rand.NewPCG(uint64(seed), 14))
		es, log := crawlAndLog(rng, time.Duration(rng.IntN(3900)-1950)*time.Millisecond, 200, 1000)
		i := rng.IntN(len(es))
		e := es[i]
		if e.Cut != "" || !e.Answered || !e.Ended || e.Began.Sub(es[0].End()) < 3*time.Minute || es[len(es)-1].Began.Sub(e.End()) < 3*time.Minute {
			continue
		}
		again := slices.ContainsFunc(es, func(o *evidence.Exchange) bool {
			return o != e && o.Target == e.Target && o.Began.Sub(e.Began).Abs() < 5*time.Minute
		})
		if again { // a line of the other may be taken for this one's
			continue
		}
		tried++
		less := slices.DeleteFunc(slices.Clone(log), func(l written) bool { return l.of == i })
		for name, want := range map[string]string{"log": "log-missing", "archive": "log-extra"} {
			logs, archived := rotated(t, rng, log, false), es
			if name == "log" {
				logs = []Log{{Path: logFile(t, texts(less))}}
			} else {
				archived = slices.Delete(slices.Clone(es), i, i+1)
			}
			if name == "archive" && isUnread(e.Status) {
				want = "" // the line's client is unknown
			}
			_, found := witnessed(t, Compare(Options{Logs: logs, TempDir: t.TempDir()}), archived...)
			require.Equalf(t, want, codesOf(found), "seed %d: out of the %s", seed, name)
		}
	}
	assert.GreaterOrEqual(t, tried, 5, "tried")
}
