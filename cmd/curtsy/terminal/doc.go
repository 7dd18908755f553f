// Package terminal writes lines to a terminal: as wide as it is and no wider, in colour where it has that, and again in the
// same place.
//
// A Line is text with styles, and no more: whatever the text is, what Render makes of it is one line without control
// characters but those of its styles, at most so many columns wide. A Screen draws lines over those it drew before. It knows
// how the terminal has broken them since, when that was made narrower. It draws nothing while a shell has the terminal
// (Ctrl-Z, bg), begins below what that wrote, and never hides the cursor: nobody could show it again after a kill.
package terminal
