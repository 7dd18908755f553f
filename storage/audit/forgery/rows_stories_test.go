package forgery

import (
	"strings"
	"time"

	"curtsy/storage/audit"
)

// storyRows are crawls of others whose records tell two stories of one exchange.
var storyRows = []row{
	alien("the request line asks for another page than the record", audit.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "GET /bread ", "GET /other ")
	}),
	alien("the answer is of another page than its request", audit.BadRecord, func(s strange) {
		_, answer := s.pair(bread)
		answer.set("WARC-Target-URI", kitchen)
	}),
	alien("a second request behind the first", audit.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.block += strings.Replace(ask.block, "/bread", "/kitchen/oven", 1)
	}),
	alien("two blanks before a forbidden path", audit.BadRecord, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "GET /bread ", "GET  /kitchen/oven ")
	}),
	alien("a browser's name before the own", audit.UserAgent, func(s strange) {
		ask, _ := s.pair(bread)
		ask.replace(s.t, "User-Agent: Otherbot/2", "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0\r\nUser-Agent: Otherbot/2")
	}),
	alien("robots.txt is dated behind all pages, and stands before them", audit.RobotsMissing, func(s strange) {
		for _, r := range s.both(bakeryRobots) {
			r.move(s, time.Hour)
		}
	}),
	alien("pages are dated one before the other, the Crawl-delay 3 s", audit.Gap, func(s strange) {
		at := time.Hour
		for _, url := range []string{"http://station.test/timetable", "http://station.test/platforms", "http://station.test/slow"} {
			for _, r := range s.both(url) {
				r.set("WARC-Date", "2026-11-20T12:00:00.000000Z")
				r.move(s, at)
			}
			at -= time.Second
		}
	}),
}
