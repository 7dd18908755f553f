package cbcp

import (
	"fmt"
	"hash/maphash"
	"time"

	"curtsy/storage/audit/evidence"
)

// visit is how often a URL was asked for.
type visit struct {
	n     int32
	had   int64 // when the last usable answer that began a day came, in microseconds of Unix; 0 for none
	since int32 // exchanges since, within a day
}

const (
	oftenMax = 2  // exchanges with a URL in the day behind a usable answer
	loopMax  = 20 // exchanges with a URL in all: browsers give up a redirect so, too
)

// key stands for a URL in memory.
func (f *facts) key(url string) uint64 { return maphash.String(f.seed, url) }

// usable reports whether there is nothing more to get: another request brings the same.
func usable(e *evidence.Exchange) bool {
	return e.Answered && e.Cut == "" && (e.Status >= 200 && e.Status <= 299 || e.Status == 304)
}

// visit counts an exchange with a URL.
func (f *facts) visit(e *evidence.Exchange) {
	k := f.key(e.URL)
	v, known := f.visits[k]
	if !known && len(f.visits) >= maxURLs {
		f.lost++
		return
	}
	v.n++
	if v.n > f.mostN {
		f.mostN, f.most = v.n, at(e, fmt.Sprintf("asked for %d times", v.n))
	}
	now := e.Began.UnixMicro()
	day := v.had != 0 && now-v.had < (24*time.Hour).Microseconds()
	if v.had != 0 {
		f.again++
	}
	if day {
		if v.since++; v.since == oftenMax+1 && !e.Own { // whose owner agrees
			add(&f.soon, at(e, fmt.Sprintf("asked for %d times in %v after a usable answer", v.since,
				time.Duration(now-v.had)*time.Microsecond)))
		}
	} else if usable(e) {
		v.had, v.since = now, 0
	}
	f.visits[k] = v
}
