# Turns the comments of headers into those that Doxygen reads: a header's first comment is about the file, and an example in a
# comment, which is indented by two more columns, is code.

# Doxygen does not know a specialisation outside of its namespace.
/^struct std::hash</,/^};/d
1s:^// :/// \\file\n/// :
s:^\( *\)//   *\([^ ].*\)$:\1///     \2:
t
s:^\( *\)//\( [^ ]\|$\):\1///\2:
t names
/^}/b
s:\([;,{}]\)  *// :\1  ///< :
t names
b
: names
s:<\([a-z_]*\)>:\\<\1\\>:g
s: \(::[a-z]\): %\1:g
