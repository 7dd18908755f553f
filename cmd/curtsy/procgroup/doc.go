// Package procgroup terminates a command together with its child processes.
package procgroup

import "time"

// Grace is how long a command may take to end after it was asked to.
const Grace = 10 * time.Second
