"""Two programs that share no lines, held against each other role by role: what training does on either side.

A fact is told only where both sides are sure of it: one does a thing in a form that is known, the other in
another known form, or nothing of it stands there under any name.
"""
