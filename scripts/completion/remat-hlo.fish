# fish completion for remat-hlo(1): everything comes from the tool's own tables.

# Prints the words that the value at the cursor can be; nothing if there is none, or if it is a file. Of several
# words with commas the last one is completed.
function __remat_hlo_values
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l option $words[-1]
    set -l before ''
    set -l value $token
    if string match -qr -- '^--[^=]+=' $token
        set -l parts (string split -m 1 = -- $token)
        set option $parts[1]
        set before $option=
        set value $parts[2]
    end
    string match -qr -- '^-[^=]*$' $option; or return
    set -l done (string match -r -- '^.*,' $value)
    set -l values ($words[1] list --values=$option 2>/dev/null)
    set -q values[1]; and printf '%s\n' $before"$done"$values
end

# Prints options and commands with their descriptions.
function __remat_hlo_names
    set -l words (commandline -opc)
    set -l command remat
    if set -q words[2]; and contains -- $words[2] ($words[1] list --names=commands 2>/dev/null)
        set command $words[2]
    end
    if string match -q -- '-*' (commandline -ct)
        $words[1] list --options=$command --describe 2>/dev/null
    else if not set -q words[2]
        $words[1] list --names=commands --describe 2>/dev/null
    end
end

function __remat_hlo_has_values
    test (count (__remat_hlo_values)) -gt 0
end

complete -c remat-hlo -n __remat_hlo_has_values -f -a '(__remat_hlo_values)'
complete -c remat-hlo -n 'not __remat_hlo_has_values' -a '(__remat_hlo_names)'
