// Package window is when something may be asked: parts of the days of a week, on the clock of a place. Pure.
//
// What that clock shows decides, minute by minute. So an hour that it leaves out in spring is in no window, and one that it
// shows twice in autumn is in or out twice. A window over midnight belongs to the day on which it begins.
package window
