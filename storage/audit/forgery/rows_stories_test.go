package forgery

import (
	"strings"
	"time"

	"curtsy/storage/audit/finding"
)

// storyRows are crawls of others whose records tell two stories of one exchange.
var storyRows = []row{
	alien("the request line has another page than the record", finding.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "GET /bread ", "GET /other ")
	}),
	alien("the answer is of another page than its request", finding.BadRecord, func(s strange) {
		_, answer := s.pair(bread)
		answer.set("WARC-Target-URI", kitchen)
	}),
	alien("a second request after the first", finding.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.block += strings.Replace(ask.block, "/bread", "/kitchen/oven", 1)
	}),
	alien("two blanks before a forbidden path", finding.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "GET /bread ", "GET  /kitchen/oven ")
	}),
	alien("a browser's name before the own", finding.UserAgent, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "User-Agent: Otherbot/2", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0\r\nUser-Agent: Otherbot/2")
	}),
	alien("robots.txt is dated after all pages, and precedes them", finding.RobotsMissing, func(s strange) {
		for _, r := range s.both(bakeryRobots) {
			r.move(s, time.Hour)
		}
	}),
	alien("pages are dated one before the other, the Crawl-delay 3 s", finding.Gap, func(s strange) {
		at := time.Hour
		for _, url := range []string{"http://station.test/timetable", "http://station.test/platforms", "http://station.test/slow"} {
			for _, r := range s.both(url) {
				r.set("WARC-Date", "2026-11-20T12:00:00.000000Z")
				r.move(s, at)
			}
			at -= time.Second
		}
	}),
	alien("a burst dated an hour before a page that precedes it, the Crawl-delay 3 s", finding.Gap, func(s strange) {
		s.date("http://station.test/", time.Hour, stamp)
		for i, url := range []string{slow, timetable, platforms} { // an hour before the page that stands before them
			s.date(url, time.Duration(i)*time.Second, stamp)
		}
	}),
	alien("pages in whole seconds, one before the other, the Crawl-delay 3 s", finding.Gap, func(s strange) {
		for i, url := range []string{"http://station.test/", slow, timetable, platforms} {
			s.date(url, -time.Duration(i)*2*time.Second, time.RFC3339)
		}
	}),
}

const slow = "http://station.test/slow"

// date dates the records of an exchange, so long after a day of its own, and puts them behind all others.
func (s strange) date(url string, after time.Duration, form string) {
	s.t.Helper()
	both := s.both(url)
	for _, r := range both {
		r.set("WARC-Date", time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC).Add(after).Format(form))
	}
	s.drop(both...)
	s.records = append(s.records, both...)
}
