// A small systolic array, written for itself: neither its sources nor its schedule come from the
// project's register level, which it is compared with in cycles and values.
//
// One PE holds its operand word A that moves right, its word B that moves down (os) or is parked
// (ws, is), a shadow of the next parked word, and a sum. Words are 8-bit signed, sums 32-bit.
// `first`, `last` and `valid` travel right with A.

module pe #(parameter RESIDENT = 1) (
  input clk, input reset,
  // From the left.
  input signed [7:0] a_in, input valid_in, input first_in, input last_in, input parity_in,
  output reg signed [7:0] a_out, output reg valid_out, output reg first_out, output reg last_out,
  output reg parity_out,
  // From above: operand (os), partial sum (ws, is).
  input signed [7:0] b_in, input signed [31:0] sum_in,
  output reg signed [7:0] b_out, output reg signed [31:0] sum_out,
  // The chain: next operand (ws, is) or finished sums (os), with the fold's parity.
  input shift, input shift_parity,
  input signed [31:0] chain_in, input chain_parity_in,
  output reg signed [31:0] chain_out, output reg chain_parity_out
);
  reg signed [7:0] parked;
  reg signed [7:0] weight;
  reg signed [31:0] sum;

  always @(posedge clk) begin
    if (reset) begin
      a_out <= 0; valid_out <= 0; first_out <= 0; last_out <= 0; parity_out <= 0; b_out <= 0;
      sum_out <= 0; chain_out <= 0; chain_parity_out <= 0; parked <= 0;
    end else begin
    a_out <= a_in; valid_out <= valid_in; first_out <= first_in; last_out <= last_in;
    parity_out <= parity_in;
    if (RESIDENT) begin
      weight = (valid_in && first_in) ? chain_out[7:0] : parked;
      parked <= weight;
      sum_out <= sum_in + a_in * weight;
      if (shift && chain_parity_in == shift_parity) begin
        chain_out <= chain_in; chain_parity_out <= chain_parity_in;
      end
    end else begin
      b_out <= b_in;
      sum = ((valid_in && first_in) ? 32'sd0 : sum_out) + a_in * b_in;
      sum_out <= sum;
      if (valid_in && last_in) begin
        chain_out <= sum; chain_parity_out <= parity_in;
      end else if (shift && chain_parity_in == shift_parity) begin
        chain_out <= chain_in; chain_parity_out <= chain_parity_in;
      end
    end
    end
  end
endmodule

// ROWS x COLS PEs with their controller. Reads a case from a file, prints the cycles and results.
//
//   case file: m n k overlap, then m*k words of A[m][k], k*n words of B[k][n]
//   (the two operands already in the roles of the dataflow: see witness_test.ts)
//
// RESIDENT: rows carry k, columns n, time m.  Otherwise rows carry m, columns n, time k.
module bench;
  parameter ROWS = 4;
  parameter COLS = 4;
  parameter RESIDENT = 1;
  parameter WORDS = 4096;

  reg clk = 0;
  reg reset = 0;
  reg signed [7:0] left [0:ROWS-1];
  reg [3:0] left_tag [0:ROWS-1]; // valid, first, last, parity
  reg signed [7:0] top [0:COLS-1];
  reg signed [31:0] chain_top [0:COLS-1];
  reg shift [0:COLS-1];
  reg shift_parity [0:COLS-1];

  wire signed [7:0] a [0:ROWS*(COLS+1)-1];
  wire [3:0] tag [0:ROWS*(COLS+1)-1];
  wire signed [7:0] b [0:(ROWS+1)*COLS-1];
  wire signed [31:0] s [0:(ROWS+1)*COLS-1];
  wire signed [31:0] ch [0:(ROWS+1)*COLS-1];
  wire chp [0:(ROWS+1)*COLS-1];

  genvar r, c;
  generate
    for (r = 0; r < ROWS; r = r + 1) begin : row
      assign a[r*(COLS+1)] = left[r];
      assign tag[r*(COLS+1)] = left_tag[r];
      for (c = 0; c < COLS; c = c + 1) begin : col
        pe #(.RESIDENT(RESIDENT)) cell_ (
          .clk(clk), .reset(reset),
          .a_in(a[r*(COLS+1)+c]), .valid_in(tag[r*(COLS+1)+c][3]), .first_in(tag[r*(COLS+1)+c][2]),
          .last_in(tag[r*(COLS+1)+c][1]), .parity_in(tag[r*(COLS+1)+c][0]),
          .a_out(a[r*(COLS+1)+c+1]), .valid_out(tag[r*(COLS+1)+c+1][3]),
          .first_out(tag[r*(COLS+1)+c+1][2]), .last_out(tag[r*(COLS+1)+c+1][1]),
          .parity_out(tag[r*(COLS+1)+c+1][0]),
          .b_in(b[r*COLS+c]), .b_out(b[(r+1)*COLS+c]),
          .sum_in(RESIDENT ? s[r*COLS+c] : 32'sd0), .sum_out(s[(r+1)*COLS+c]),
          .shift(shift[c] && (RESIDENT || r > 0)), .shift_parity(shift_parity[c]),
          .chain_in(ch[r*COLS+c]), .chain_parity_in(chp[r*COLS+c]),
          .chain_out(ch[(r+1)*COLS+c]), .chain_parity_out(chp[(r+1)*COLS+c])
        );
      end
    end
    for (c = 0; c < COLS; c = c + 1) begin : edge_
      assign b[c] = top[c];
      assign s[c] = 32'sd0;
      assign ch[c] = chain_top[c];
      assign chp[c] = shift_parity[c];
    end
  endgenerate

  reg signed [7:0] A [0:WORDS-1];
  reg signed [7:0] B [0:WORDS-1];
  reg signed [31:0] C [0:WORDS-1];
  integer m, n, k, overlap, cases, which, file, got, value;
  integer sr, sc, t, row_folds, folds, cycle, fold, i, x, cc, rr;
  integer first_row, first_col, next_stream, next_load, done;
  integer stream_at [0:WORDS-1];
  integer load_at [0:WORDS-1];
  integer passed [0:COLS-1];
  integer col_fold [0:COLS-1];
  integer drain [0:COLS-1];
  reg leaves [0:COLS-1];
  reg signed [31:0] word;

  initial begin
    file = $fopen("cases.txt", "r");
    got = $fscanf(file, "%d", cases);
    for (which = 0; which < cases; which = which + 1) begin
      got = $fscanf(file, "%d %d %d %d", m, n, k, overlap);
      for (i = 0; i < m * k; i = i + 1) begin got = $fscanf(file, "%d", value); A[i] = value; end
      for (i = 0; i < k * n; i = i + 1) begin got = $fscanf(file, "%d", value); B[i] = value; end
      run;
      $write("%0d", cycle);
      for (i = 0; i < m * n; i = i + 1) $write(" %0d", C[i]);
      $write("\n");
    end
    $fclose(file);
    $finish;
  end

  task run;
    begin
      sr = RESIDENT ? k : m;
      sc = n;
      t = RESIDENT ? m : k;
      row_folds = (sr + ROWS - 1) / ROWS;
      folds = row_folds * ((sc + COLS - 1) / COLS);
      next_stream = 0; next_load = 0; done = 0; cycle = 0;
      for (cc = 0; cc < COLS; cc = cc + 1) begin
        passed[cc] = 0; col_fold[cc] = -1; drain[cc] = 0;
      end
      reset = 1;
      #1 clk = 1;
      #1 clk = 0;
      reset = 0;
      while (done < folds) begin
        start_folds;
        feed;
        #1 clk = 1;
        #1 clk = 0;
        collect;
        cycle = cycle + 1;
      end
    end
  endtask

  task start_folds;
    begin
      if (next_stream < folds) begin
        if (RESIDENT) begin
          if (next_stream < next_load && cycle >= load_at[next_stream] + ROWS &&
              (next_stream == 0 || cycle >= stream_at[next_stream-1] + t)) begin
            stream_at[next_stream] = cycle; next_stream = next_stream + 1;
          end
        end else if (next_stream == 0 ||
            (overlap ? cycle >= stream_at[next_stream-1] + (t > ROWS ? t : ROWS) : done == next_stream)) begin
          stream_at[next_stream] = cycle; next_stream = next_stream + 1;
        end
      end
      if (RESIDENT && next_load < folds &&
          (next_load == 0 || (overlap ? next_stream >= next_load : done == next_load))) begin
        load_at[next_load] = cycle; next_load = next_load + 1;
      end
    end
  endtask

  task feed;
    begin
      for (rr = 0; rr < ROWS; rr = rr + 1) begin left[rr] = 0; left_tag[rr] = 0; end
      for (cc = 0; cc < COLS; cc = cc + 1) begin
        top[cc] = 0; chain_top[cc] = 0; shift[cc] = 0; shift_parity[cc] = 0;
      end
      for (fold = 0; fold < next_stream; fold = fold + 1) begin
        first_row = (fold % row_folds) * ROWS;
        first_col = (fold / row_folds) * COLS;
        for (rr = 0; rr < ROWS; rr = rr + 1) begin
          x = cycle - stream_at[fold] - rr;
          if (x >= 0 && x < t) begin
            left_tag[rr] = {1'b1, x == 0, x == t - 1, fold % 2 == 0};
            if (first_row + rr < sr)
              left[rr] = RESIDENT ? A[x*k + first_row + rr] : A[(first_row + rr)*k + x];
          end
        end
        if (!RESIDENT)
          for (cc = 0; cc < COLS; cc = cc + 1) begin
            x = cycle - stream_at[fold] - cc;
            if (x >= 0 && x < t && first_col + cc < sc) top[cc] = B[x*n + first_col + cc];
          end
      end
      if (RESIDENT)
        for (fold = 0; fold < next_load; fold = fold + 1) begin
          first_row = (fold % row_folds) * ROWS;
          first_col = (fold / row_folds) * COLS;
          for (cc = 0; cc < COLS; cc = cc + 1) begin
            x = cycle - load_at[fold] - (overlap ? cc : 0);
            if (x >= 0 && x < ROWS) begin
              shift[cc] = 1;
              shift_parity[cc] = fold % 2 == 0;
              rr = first_row + ROWS - 1 - x;
              if (rr < sr && first_col + cc < sc) chain_top[cc] = B[rr*n + first_col + cc];
            end
          end
        end
      else
        for (cc = 0; cc < COLS; cc = cc + 1) begin
          leaves[cc] = drain[cc] > 0;
          if (drain[cc] > 0) begin
            shift[cc] = 1;
            shift_parity[cc] = chp[ROWS*COLS + cc];
            drain[cc] = drain[cc] - 1;
          end
        end
    end
  endtask

  task collect;
    begin
      for (cc = 0; cc < COLS; cc = cc + 1) begin
        if (RESIDENT) leaves[cc] = tag[(ROWS-1)*(COLS+1) + cc + 1][3];
        else if (tag[(ROWS-1)*(COLS+1) + cc + 1][3] && tag[(ROWS-1)*(COLS+1) + cc + 1][1]) begin
          leaves[cc] = 1;
          drain[cc] = ROWS - 1;
        end
        if (leaves[cc]) begin
          if (passed[cc] == 0) col_fold[cc] = col_fold[cc] + 1;
          first_row = (col_fold[cc] % row_folds) * ROWS;
          first_col = (col_fold[cc] / row_folds) * COLS + cc;
          if (RESIDENT) begin
            word = s[ROWS*COLS + cc];
            if (first_col < sc)
              C[passed[cc]*n + first_col] = word + (first_row == 0 ? 32'sd0 : C[passed[cc]*n + first_col]);
          end else begin
            rr = first_row + ROWS - 1 - passed[cc];
            if (rr < sr && first_col < sc) C[rr*n + first_col] = ch[ROWS*COLS + cc];
          end
          passed[cc] = passed[cc] + 1;
          if (passed[cc] == (RESIDENT ? t : ROWS)) begin
            passed[cc] = 0;
            if (cc == COLS - 1) done = done + 1;
          end
        end
      end
    end
  endtask
endmodule
